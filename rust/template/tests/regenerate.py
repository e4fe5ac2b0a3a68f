"""Writes ``fixtures/expressions.json``: what jinja2 gives for small templates, as transformers sets it up.

Run with a Python that has transformers 5.24 and jinja2 3.1.6::

    python rust/template/tests/regenerate.py

The templates are in ``fixtures/expressions.txt``, one per line as a JSON string; a line that starts
with ``#`` is a comment. All of them see the variables of ``CONTEXT``.
"""

from __future__ import annotations

import copy
import datetime
import json
import pathlib
from typing import Any, Self

import transformers.utils.chat_template_utils

# The functions below are private to transformers, and untyped.
chat_template_utils: Any = transformers.utils.chat_template_utils

FIXTURES = pathlib.Path(__file__).parent / "fixtures"

CONTEXT: dict[str, Any] = {
    "s": "Hello, Wörld",
    "e": "",
    "n": None,
    "t": True,
    "i": 7,
    "big": 123456789012345678901234567890,
    "f": 2.5,
    "l": [3, 1, 2],
    "w": ["b", "A", "c"],
    "d": {"b": 1, "a": "x", "items": [1]},
    "m": [
        {"role": "user", "content": "hi", "k": 2, "x": {"y": 1}},
        {"role": "assistant", "content": None, "k": 1, "x": {"y": None}},
        {"role": "user", "content": [{"type": "text", "text": "é"}], "k": 3},
    ],
}


class FixedClock(datetime.datetime):
    """A clock that stands still."""

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> Self:
        """The time of the corpus."""
        return cls(2026, 1, 15, 12, 0, 0, tzinfo=tz)


def case(template: str) -> dict[str, Any]:
    """The template with the text or the error that jinja2 gives."""
    try:
        compiled = chat_template_utils._cached_compile_jinja_template(template)
        text, spans = chat_template_utils._render_with_assistant_indices(
            compiled,
            messages=None,
            tools=None,
            documents=None,
            add_generation_prompt=False,
            **copy.deepcopy(CONTEXT),
        )
    except Exception as error:  # whatever it is, it is the expected outcome
        return {"template": template, "error": {"type": type(error).__name__, "message": str(error)[:200]}}
    expected: dict[str, Any] = {"template": template, "text": text}
    if spans:
        expected["assistant_spans"] = spans
    return expected


def main() -> None:
    """Reads the templates and writes the cases."""
    chat_template_utils.datetime = FixedClock
    lines = (FIXTURES / "expressions.txt").read_text(encoding="utf-8").splitlines()
    cases = [case(json.loads(line)) for line in lines if line and not line.startswith("#")]
    # Nothing can be equal to an address of CPython's memory.
    cases = [given for given in cases if " at 0x" not in given.get("text", "")]
    content = json.dumps({"context": CONTEXT, "cases": cases}, ensure_ascii=True, indent=1)
    (FIXTURES / "expressions.json").write_text(content + "\n", encoding="utf-8")
    print(f"{len(cases)} cases, {sum('error' in case for case in cases)} of them errors")


if __name__ == "__main__":
    main()
