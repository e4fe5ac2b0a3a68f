"""Chat templates as HF transformers renders them."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from transformers.tokenization_utils_base import _normalize_chat_messages
from transformers.utils import chat_template_utils

from tests.conformance.data import OWN, json_lines
from tests.conformance.record.write import write_json, write_lines

FOLDER = OWN / "templates"
NOW = datetime(2026, 1, 15, 12)
SPECIAL_TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}


class FixedClock(datetime):
    """The time that `strftime_now` reads."""

    @classmethod
    def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]
        return NOW


def render(source: str, conversation: dict[str, Any]) -> dict[str, Any]:
    """The text and the spans of the assistant's tokens, or the error."""
    messages = conversation["messages"]
    if conversation["normalize"]:
        messages = _normalize_chat_messages(messages)
    wants_spans = "generation %}" in source and not conversation["continue_final_message"]
    try:
        texts, spans = chat_template_utils.render_jinja_template(
            conversations=[messages],
            tools=conversation["tools"],
            documents=conversation["documents"],
            chat_template=source,
            return_assistant_tokens_mask=wants_spans,
            continue_final_message=conversation["continue_final_message"],
            add_generation_prompt=conversation["add_generation_prompt"],
            **{**SPECIAL_TOKENS, **conversation["kwargs"]},
        )
    except Exception as error:  # whatever it is, it is the expected outcome
        raised = (
            re.search(r"raise_exception\(", source) is not None and type(error).__name__ == "TemplateError"
        )
        return {"error": {"type": type(error).__name__, "message": str(error), "exact": raised}}
    expected: dict[str, Any] = {"text": texts[0]}
    if wants_spans:
        expected["assistant_spans"] = [list(span) for span in spans[0]]
    return expected


def record() -> None:
    """Writes `expected/NAME.jsonl` for every template, and the special tokens that they were given."""
    chat_template_utils.datetime = FixedClock  # type: ignore[attr-defined]
    conversations = json_lines(FOLDER / "conversations.jsonl")
    names = sorted(path.stem for path in (FOLDER / "templates").glob("*.jinja"))
    for name in names:
        source = (FOLDER / "templates" / f"{name}.jinja").read_bytes().decode()
        write_lines(
            FOLDER / "expected" / f"{name}.jsonl",
            [{"conversation": case["name"], **render(source, case["input"])} for case in conversations],
        )
    write_json(FOLDER / "special_tokens.json", {name: {"special_tokens": SPECIAL_TOKENS} for name in names})
