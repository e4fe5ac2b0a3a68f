"""Outputs with the reference's answers, whole and streamed. The parsers' own cases run in rust/derender/tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dragoman import Derenderer
from tests.conformance.data import OWN, Differences, json_lines

FILES = sorted((OWN / "derender").glob("*.jsonl"))
DIFFERENCES = Differences("own-derender")


def derenderer(flags: list[str]) -> Derenderer:
    parser = flags[flags.index("--tool-call-parser") + 1]
    return Derenderer.from_model(
        "smollm2", served_model_names=("m",), tool_call_parser=parser, enable_auto_tool_choice=True
    )


def calls(message: dict[str, Any]) -> list[tuple[str, Any]]:
    """Name and arguments of each call; ids are random."""
    functions = [call["function"] for call in message.get("tool_calls") or []]
    return [(function["name"], json.loads(function["arguments"])) for function in functions]


def meaning(choice: dict[str, Any]) -> dict[str, Any]:
    message = choice["message"]
    return {
        "content": message["content"],
        "reasoning": message["reasoning"],
        "calls": calls(message),
        "finish_reason": choice["finish_reason"],
    }


def merged(chunks: list[dict[str, Any]]) -> dict[str, Any]:
    """What a client has at the end of a stream."""
    texts, functions, finish_reason = {"content": "", "reasoning": ""}, [], None
    for chunk in chunks:
        for choice in chunk["choices"]:
            finish_reason = choice["finish_reason"] or finish_reason
            for key in texts:
                texts[key] += choice["delta"].get(key) or ""
            for part in choice["delta"].get("tool_calls") or []:
                if part["index"] == len(functions):
                    functions.append({"name": part["function"]["name"], "arguments": ""})
                functions[part["index"]]["arguments"] += part["function"].get("arguments") or ""
    message = {"tool_calls": [{"function": function} for function in functions]}
    found: dict[str, Any] = {key: text or None for key, text in texts.items()}
    return {**found, "calls": calls(message), "finish_reason": finish_reason}


def streamed(core: Derenderer, body: dict[str, Any], size: int) -> list[dict[str, Any]]:
    """Our chunks for `size` ids at a time."""
    (choice,) = body["generate_response"]["choices"]
    ids = choice["token_ids"]
    chunks, state = [], None
    for start in range(0, len(ids), size):
        last = start + size >= len(ids)
        part = {"index": 0, "token_ids": ids[start : start + size], "finish_reason": "stop" if last else None}
        common = {key: body[key] for key in ("model", "prompt_token_ids", "chat_request")}
        chunk = {"request_id": "r", "choices": [part]}
        answer = core.chat({**common, "stream": True, "generate_chunk": chunk, "stream_state": state})
        state = answer["stream_state"]
        chunks.append(answer["chunk"])
    return chunks


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_answers_equal_the_reference(file: Path) -> None:
    cases = json_lines(file)
    core = derenderer(cases[0]["flags"])
    for case in cases:
        answers = {
            "whole": (meaning(core.chat(case["body"])["choices"][0]), meaning(case["response"]["choices"][0]))
        }
        for size, chunks in case["streams"].items():
            answers[size] = (merged(streamed(core, case["body"], int(size))), merged(chunks))
        for way, (ours, expected) in answers.items():
            same = ours == expected
            listed = DIFFERENCES.reason(file.stem, f"{case['name']}/{way}")
            assert same or listed, f"{case['name']}, {way}: {ours}, expected {expected}"
            assert not (same and listed), (
                f"{case['name']}, {way}: listed in differences.toml, but does not differ"
            )


def test_the_stream_means_what_the_whole_means() -> None:
    for file in FILES:
        cases = json_lines(file)
        core = derenderer(cases[0]["flags"])
        for case in cases:
            whole = meaning(core.chat(case["body"])["choices"][0])
            for size in (1, 2, 3, 5, 1000):
                assert merged(streamed(core, case["body"], size)) == whole, (case["name"], size)
