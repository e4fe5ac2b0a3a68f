"""Ids, offsets, decodes and assistant masks, through the public API."""

from __future__ import annotations

import json
import re
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dragoman import ChatTemplate, Renderer, Tokenizer
from dragoman.hub import resolve
from tests.conformance.data import FOLDERS, SHARED, case_id, json_lines, model_path

FOLDER = SHARED / "conformance" / "tokenization"
TEMPLATES = SHARED / "conformance" / "templates"
RECORDED = datetime(2026, 11, 29)
"""The day when the masks were recorded, which some templates print."""
MODELS = [
    (folder / "tokenization", model)
    for folder in FOLDERS
    for model in ("deepseek", "gemma3", "llama3", "qwen3", "smollm2")
    if (folder / "tokenization" / f"{model}.jsonl").is_file()
]
needs_shared = pytest.mark.skipif(not FOLDER.is_dir(), reason="no ../shared beside the repository")


@cache
def tokenizer(model: str) -> Tokenizer:
    return Tokenizer.from_file(str(resolve(model, weights=False).tokenizer_json))


@cache
def conversations() -> dict[str, dict[str, Any]]:
    return {case["name"]: case["input"] for case in json_lines(TEMPLATES / "conversations.jsonl")}


def source(template: str) -> str:
    return (TEMPLATES / "templates" / f"{template}.jinja").read_bytes().decode()


@pytest.mark.parametrize("named", MODELS, ids=case_id)
def test_ids_offsets_and_decodes(named: tuple[Path, str]) -> None:
    folder, model = named[0], model_path(*named)
    faults = []
    for case in json_lines(folder / f"{named[1]}.jsonl"):
        encoding = tokenizer(model).encode(case["text"])
        ours = {
            "ids": encoding.ids.tolist(),
            "offsets": encoding.offsets.tolist(),
            "ids_with_special": tokenizer(model).encode(case["text"], add_special_tokens=True).ids.tolist(),
            "decoded": tokenizer(model).decode(case["ids"], skip_special_tokens=False),
            "decoded_skip": tokenizer(model).decode(encoding.ids, skip_special_tokens=True),
        }
        faults += [f"{case['text'][:60]!r}: {key}" for key, value in ours.items() if value != case[key]]
    assert not faults, f"{len(faults)} faults\n" + "\n".join(faults)


@cache
def dated(template: str) -> str:
    """The template, with the date that it printed when the masks were recorded."""
    call = re.compile(r"""strftime_now\((["'])(.*?)\1\)""")
    return call.sub(lambda found: repr(RECORDED.strftime(found[2])), source(template))


@cache
def renderer(template: str, model: str) -> Renderer:
    return Renderer.from_model(str(SHARED / "models" / model), chat_template=dated(template))


def masked_request(case: dict[str, Any]) -> dict[str, Any]:
    conversation = conversations()[case["conversation"]]
    return {
        "messages": conversation["messages"],
        "add_generation_prompt": conversation["add_generation_prompt"],
        "chat_template_kwargs": conversation["kwargs"],
        "return_assistant_tokens_mask": True,
    }


def mask_cases(*, tools: bool) -> list[dict[str, Any]]:
    cases = json_lines(FOLDER / "assistant_mask.jsonl")
    return [case for case in cases if bool(conversations()[case["conversation"]]["tools"]) == tools]


@needs_shared
def test_masks_of_the_render_endpoint() -> None:
    cases = mask_cases(tools=False)
    assert len(cases) >= 135
    for case in cases:
        answer = renderer(case["template"], case["model"]).chat(masked_request(case))
        assert answer["token_ids"] == case["token_ids"], case["conversation"]
        assert answer["assistant_tokens_mask"] == case["assistant_tokens_mask"], case["conversation"]


@needs_shared
def test_masks_under_truncation() -> None:
    for case in mask_cases(tools=False)[:30]:
        core = renderer(case["template"], case["model"])
        expected = case["assistant_tokens_mask"]
        kept = len(expected) - 3
        request = {**masked_request(case), "truncate_prompt_tokens": kept}
        assert core.chat(request)["assistant_tokens_mask"] == expected[-kept:]
        right = core.chat({**request, "truncation_side": "right"})
        assert right["assistant_tokens_mask"] == expected[:kept]


@needs_shared
def test_masks_put_together_by_hand() -> None:
    """With tools, which the endpoint writes out in full before a template sees them."""
    cases = mask_cases(tools=True)
    assert len(cases) >= 27
    for case in cases:
        files = resolve(str(SHARED / "models" / case["model"]), weights=False)
        template = ChatTemplate(dated(case["template"]), files.special_tokens, engine="minijinja")
        payload = json.dumps(conversations()[case["conversation"]]).encode()
        rendered = template.render_json(payload)
        encoding = tokenizer(str(SHARED / "models" / case["model"])).encode(rendered.text)
        assert encoding.ids.tolist() == case["token_ids"], case["template"]
        mask = encoding.assistant_mask(rendered.assistant_spans)
        assert mask.tolist() == case["assistant_tokens_mask"], case["template"]


@needs_shared
def test_no_mask_without_generation_blocks() -> None:
    core = Renderer.from_model(str(SHARED / "models" / "qwen3"))
    request = {"messages": [{"role": "user", "content": "Hi"}]}
    assert core.chat({**request, "return_assistant_tokens_mask": True})["assistant_tokens_mask"] is None
    assert "assistant_tokens_mask" not in core.chat(request)
