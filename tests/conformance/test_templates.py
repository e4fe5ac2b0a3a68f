"""Chat templates and one-expression cases, with what transformers prints."""

from __future__ import annotations

import json
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dragoman import ChatTemplate
from tests.conformance.data import FOLDERS, SHARED, case_id, json_lines

# The folder with the data and the name of the template, or of the category of expressions.
Named = tuple[Path, str]
TEMPLATES: list[Named] = [
    (folder / "templates", path.stem)
    for folder in FOLDERS
    for path in sorted((folder / "templates" / "templates").glob("*.jinja"))
]
CATEGORIES = sorted((SHARED / "conformance" / "templates" / "micro").glob("*.json"))
NOW = datetime(2026, 1, 15, 12)


@cache
def special_tokens(folder: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads(
        (folder / "special_tokens.json").read_text(encoding="utf-8")
    )
    return found


@cache
def payloads(folder: Path) -> dict[str, bytes]:
    """The conversations as the bytes that stand in the file: their numbers keep their text."""
    found = {}
    for line in (folder / "conversations.jsonl").read_bytes().splitlines():
        found[json.loads(line)["name"]] = line.split(b'"input":', 1)[1].rstrip()[:-1]
    return found


def template(named: Named) -> ChatTemplate:
    folder, name = named
    source = (folder / "templates" / f"{name}.jinja").read_bytes().decode()
    return ChatTemplate(source, special_tokens=special_tokens(folder)[name]["special_tokens"])


def outcome(chat_template: ChatTemplate, payload: bytes) -> dict[str, Any]:
    try:
        rendered = chat_template.render_json(payload, now=NOW)
    except ValueError as error:
        return {"error": str(error)}
    return {"text": rendered.text, "spans": [list(span) for span in rendered.assistant_spans]}


def has_address(case: dict[str, Any]) -> bool:
    """Whether the reference printed where an object lies in its memory."""
    return "at 0x" in case.get("text", "")


def fault(ours: dict[str, Any], expected: dict[str, Any]) -> str | None:
    """What is wrong with an outcome; None where nothing is."""
    error = expected.get("error")
    if error is not None:
        if "error" not in ours:
            return f"printed {ours['text'][:200]!r}, expected the error {error}"
        if error.get("exact") and ours["error"] != error["message"]:
            return f"error {ours['error']!r}, expected {error['message']!r}"
        return None
    if ours.get("text") != expected["text"]:
        return f"{str(ours)[:300]}, expected {expected['text'][:300]!r}"
    if expected.get("assistant_spans") is not None and ours["spans"] != expected["assistant_spans"]:
        return f"spans {ours['spans']}, expected {expected['assistant_spans']}"
    return None


@pytest.mark.parametrize("named", TEMPLATES, ids=case_id)
def test_template_prints_what_transformers_prints(named: Named) -> None:
    chat_template = template(named)
    folder, name = named
    cases = json_lines(folder / "expected" / f"{name}.jsonl")
    found = {}
    for case in cases:
        conversation = case.get("conversation") or case["name"]
        found[conversation] = fault(outcome(chat_template, payloads(folder)[conversation]), case)
    faults = [f"{name}: {text}" for name, text in found.items() if text]
    assert found.keys() == payloads(folder).keys()
    assert not faults, f"{len(faults)} of {len(cases)}\n" + "\n".join(faults)


def test_the_built_in_engine_renders_nearly_all() -> None:
    """A template that it gets wrong is rendered by jinja2."""
    slow = [named[1] for named in TEMPLATES if template(named).engine != "minijinja"]
    assert len(slow) <= 2, slow


@pytest.mark.parametrize("category", CATEGORIES, ids=lambda path: path.stem)
def test_expressions(category: Path) -> None:
    cases = json.loads(category.read_text(encoding="utf-8"))
    faults = []
    for case in cases:
        if case.get("nondeterministic") or has_address(case):
            continue
        context = dict(case["context"])
        payload = {"messages": context.pop("messages", []), "kwargs": context}
        for key in ("tools", "documents", "add_generation_prompt"):
            if key in context:
                payload[key] = context.pop(key)
        try:
            chat_template = ChatTemplate(case["template"], engine="minijinja")
        except ValueError as error:
            ours = {"error": str(error)}
        else:
            ours = outcome(chat_template, json.dumps(payload).encode())
        text = fault(ours, {"error": None, **case})
        if text:
            faults.append(f"{case['id']}: {case['template'][:120]!r}: {text}")
    assert not faults, f"{len(faults)} of {len(cases)}\n" + "\n".join(faults)
