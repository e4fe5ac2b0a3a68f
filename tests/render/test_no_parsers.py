"""`--tool-call-parser none` and `--reasoning-parser none` are as if the flags were absent, on the render side too."""

from __future__ import annotations

import pytest

from dragoman import Renderer, RequestError

USER = {"role": "user", "content": "x"}
TOOL = {"type": "function", "function": {"name": "f"}}


def test_none_is_no_parser() -> None:
    plain = Renderer.from_model("smollm2")
    none = Renderer.from_model("smollm2", tool_call_parser="none", reasoning_parser="none")
    request = {"messages": [USER], "request_id": "r"}
    assert none.chat(request) == plain.chat(request)
    with pytest.raises(RequestError, match="--tool-call-parser"):
        none.chat({**request, "tools": [TOOL], "tool_choice": "required"})
