"""`output_mode: "derender"`: the generate request carries what a derenderer behind the engine needs.

The fields are those that `../shared/wire/README.md` names.
"""

from __future__ import annotations

import pytest

from dragoman import Renderer, RequestError

MESSAGES = [
    {"role": "user", "content": "go"},
    {
        "role": "assistant",
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "c", "content": "done"},
]
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}


@pytest.fixture(scope="module")
def renderer() -> Renderer:
    return Renderer.from_model("smollm2", tool_call_parser="hermes")


def test_the_context_of_a_chat(renderer: Renderer) -> None:
    choice = {"type": "function", "function": {"name": "f"}}
    request = renderer.chat(
        {
            "messages": MESSAGES,
            "tools": [TOOL],
            "tool_choice": choice,
            "parallel_tool_calls": False,
            "chat_template_kwargs": {"enable_thinking": False},
            "output_mode": "derender",
        }
    )
    assert request["output_mode"] == "derender"
    context = request["parse_context"]
    assert context["tools"] == [TOOL]
    assert context["tool_choice"] == choice
    assert context["parallel_tool_calls"] is False
    assert context["include_reasoning"] is True
    assert context["chat_template_kwargs"]["enable_thinking"] is False
    assert context["history_tool_call_cnt"] == 1


def test_ids_alone_need_no_context(renderer: Renderer) -> None:
    request = renderer.chat({"messages": MESSAGES})
    assert request["output_mode"] == "tokens"
    assert "parse_context" not in request
    with pytest.raises(RequestError, match="output_mode"):
        renderer.chat({"messages": MESSAGES, "output_mode": "prose"})
