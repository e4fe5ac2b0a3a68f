"""Requests of the Messages and Responses APIs become the conversation that vLLM makes of them, or a 400 that names
what the client sent.

Expected: what `vllm launch render` 0.32 answers to the same bodies for Qwen3, where not said otherwise; here the
conversations are compared through a template that prints them.
"""

from __future__ import annotations

from typing import Any

import pytest

from dragoman import Renderer, RequestError

PRINTS = (
    "{% for m in messages %}[{{ m.role }}]{% if m.reasoning_content %}({{ m.reasoning_content }}){% endif %}"
    "{{ m.content or '' }}{% for c in m.tool_calls or [] %}<{{ c.function.name }} {{ c.function.arguments | tojson }}>"
    "{% endfor %}{% endfor %}"
)
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
USER = {"role": "user", "content": "q"}


@pytest.fixture(scope="module")
def renderer() -> Renderer:
    return Renderer.from_model(
        "smollm2", chat_template=PRINTS, tool_call_parser="hermes", enable_auto_tool_choice=True
    )


def _text(renderer: Renderer, answer: dict[str, Any]) -> str:
    text: str = renderer.detokenize({"tokens": answer["token_ids"]})["prompt"]
    return text


def _messages(renderer: Renderer, *messages: dict[str, Any], **fields: Any) -> str:
    body = {"model": "smollm2", "max_tokens": 16, "messages": messages or [USER], **fields}
    return _text(renderer, renderer.messages(body))


def _responses(renderer: Renderer, *items: dict[str, Any], **fields: Any) -> str:
    return _text(renderer, renderer.responses({"model": "smollm2", "input": list(items), **fields}))


def _result(content: Any, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": [{"type": "tool_result", "tool_use_id": "t", "content": content}]}


def _blocks(*texts: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text} for text in texts]


def test_messages(renderer: Renderer) -> None:
    billing = "x-anthropic-billing-header: cch=1;"
    assert _messages(renderer, system=_blocks(billing, "B")) == "[system]B[user]q"
    assert _messages(renderer, system="") == _messages(renderer, system=[]) == "[user]q"
    assert _messages(renderer, {"role": "system", "content": _blocks("s", "t")}, USER) == "[system]st[user]q"
    assert _messages(renderer, {"role": "user", "content": _blocks("", "a")}) == "[user]a"
    assert _messages(renderer, USER, _result("x", "assistant")) == "[user]q[assistant]Tool result: x"
    assert _messages(renderer, _result(_blocks("a", "b"))) == "[tool]a\nb"
    assert _messages(renderer, tools=[]) == "[user]q"
    reference = {"type": "tool_reference", "tool_name": "g"}
    assert _messages(renderer, {"role": "user", "content": [reference, *_blocks("a")]}) == "[user]a"
    # As vLLM 0.34: one message for a result.
    assert _messages(renderer, _result([reference])) == "[tool]g"


def test_thinking_between_tools_is_off_up_front(renderer: Renderer) -> None:
    """vLLM 0.34."""
    thinks = Renderer.from_model("smollm2", chat_template="{{ reasoning_effort }} {{ enable_thinking }}")
    assert _messages(thinks, thinking={"type": "between_tools"}) == "none False"


def _call(number: int) -> dict[str, Any]:
    return {"type": "function_call", "call_id": f"c{number}", "name": f"f{number}", "arguments": '{"a": 1}'}


def test_responses(renderer: Renderer) -> None:
    output = {"type": "function_call_output", "call_id": "c1", "output": "x"}
    reasoning = {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "hm"}]}
    answer = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "b"}]}
    custom = {"type": "custom_tool_call", "call_id": "c", "name": "g", "input": "zz"}
    custom_output = {"type": "custom_tool_call_output", "call_id": "c", "output": "yy"}
    calls = '<f1 {"a": 1}><f2 {"a": 1}>'
    assert _responses(renderer, USER, _call(1), _call(2), output) == f"[user]q[assistant]{calls}[tool]x"
    assert _responses(renderer, USER, reasoning, answer, _call(1)) == '[user]q[assistant](hm)b<f1 {"a": 1}>'
    assert _responses(renderer, USER, reasoning, reasoning) == "[user]q[assistant](hm)[assistant](hm)"
    assert _responses(renderer, USER, answer, answer) == "[user]q[assistant]b[assistant]b"
    assert (
        _responses(renderer, USER, custom, custom_output) == '[user]q[assistant]<g {"input": "zz"}>[tool]yy'
    )


def test_responses_sampling(renderer: Renderer) -> None:
    fields = {
        "min_p": 0.1,
        "logit_bias": {"5": 1.0},
        "stop_token_ids": [7],
        "ignore_eos": True,
        "include_stop_str_in_output": True,
        "structured_outputs": {"regex": "a+"},
    }
    answer = renderer.responses({"input": "x", **fields})["sampling_params"]
    fields["structured_outputs"] = answer["structured_outputs"]
    assert answer["structured_outputs"]["regex"] == "a+"
    assert {name: answer[name] for name in fields} == fields
    asked = {"input": "x", "include": ["message.output_text.logprobs"], "top_logprobs": 2}
    assert renderer.responses(asked)["sampling_params"]["logprobs"] == 2


# Of the Messages API: fields, and the parameter that is named.
MESSAGES_FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"messages": [{"role": "user", "content": [*_blocks("a"), IMAGE]}]}, "messages.0.content.1.type"),
    ({"messages": [USER, _result([*_blocks("a"), IMAGE])]}, "messages.1.content.0.content.1.type"),
    ({"messages": [_result([{"type": "document"}])]}, "messages.0.content.0.content.0.type"),
    ({"system": [IMAGE]}, "system.0.type"),
    ({"stop_sequences": [1]}, "stop_sequences.0"),
    ({"output_config": {"effort": "huge"}}, "output_config.effort"),
    ({"tools": [{"name": "n" * 70_000, "input_schema": {}}]}, "tools.0.name"),
    ({"tools": [{"type": "web_search_20250305", "name": "w"}]}, "tools.0.type"),
    ({"thinking": {"type": "sometimes"}}, "thinking"),
    ({"tool_choice": {"type": "tool"}, "tools": [{"name": "f", "input_schema": {}}]}, "tool_choice"),
    ({"temperature": "hot"}, "temperature"),
    ({"messages": [USER] * 4097}, "messages"),
    ({"tools": [{"name": "f", "input_schema": {}}] * 1025}, "tools"),
]
RESPONSES_FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"input": [USER, {"role": "user"}]}, "input.1.content"),
    ({"input": [USER, {"role": "user", "content": 5}]}, "input.1.content"),
    ({"max_output_tokens": "x"}, "max_output_tokens"),
    ({"reasoning": {"effort": "huge"}}, "reasoning.effort"),
    ({"tools": [{"type": "function", "name": "n" * 70_000}]}, "tools.0.name"),
    ({"input": [USER] * 4097}, "input"),
]


@pytest.mark.parametrize(("fields", "param"), MESSAGES_FAULTS)
def test_errors_of_messages_name_what_was_sent(
    fields: dict[str, Any], param: str, renderer: Renderer
) -> None:
    with pytest.raises(RequestError) as refused:
        _messages(renderer, **fields)
    assert refused.value.param == f"body.{param}"
    assert param in refused.value.message


@pytest.mark.parametrize(("fields", "param"), RESPONSES_FAULTS)
def test_errors_of_responses_name_what_was_sent(
    fields: dict[str, Any], param: str, renderer: Renderer
) -> None:
    with pytest.raises(RequestError) as refused:
        _responses(renderer, *fields.pop("input", [USER]), **fields)
    assert refused.value.param == f"body.{param}"
    assert param in refused.value.message


@pytest.mark.parametrize("kind", ["input_image", "input_file", "input_audio"])
def test_media_of_responses_are_refused_by_name(kind: str, renderer: Renderer) -> None:
    part = {"type": kind, kind: {}}
    with pytest.raises(RequestError, match=r"input\.1\.content\.0"):
        _responses(renderer, USER, {"role": "user", "content": [part]})
    with pytest.raises(RequestError, match=r"input\.2\.output\.0"):
        _responses(
            renderer, USER, _call(1), {"type": "function_call_output", "call_id": "c1", "output": [part]}
        )
    with pytest.raises(RequestError, match="encrypted_content"):
        _responses(renderer, {"type": "reasoning", "summary": [], "encrypted_content": "e"})


@pytest.mark.parametrize("kind", ["image_url", "input_audio", "video_url", "file", "image", "hologram"])
def test_media_of_a_chat_are_refused_by_name(kind: str, renderer: Renderer) -> None:
    content = [*_blocks("a"), {"type": kind, kind: {"url": "data:,"}}]
    with pytest.raises(RequestError, match=rf"messages\.0\.content\.1.*{kind}"):
        renderer.chat({"messages": [{"role": "user", "content": content}]})


def test_an_empty_list_of_tools_is_no_list(renderer: Renderer) -> None:
    """vLLM 0.34."""
    plain = renderer.chat({"messages": [USER], "request_id": "r"})
    for choice in ({}, {"tool_choice": "auto"}, {"tool_choice": "required"}):
        assert renderer.chat({"messages": [USER], "request_id": "r", "tools": [], **choice}) == plain
    named = {"type": "function", "function": {"name": "f"}}
    with pytest.raises(RequestError, match="tool_choice"):
        renderer.chat({"messages": [USER], "tools": [], "tool_choice": named})


def test_names_of_the_rendering_in_template_variables() -> None:
    """Only a template needs trust; other arguments of the reference's rendering mean nothing."""
    trusting = Renderer.from_model("smollm2", trust_request_chat_template=True)
    body = {"messages": [USER], "chat_template_kwargs": {"chat_template": "X{{ messages[0].content }}"}}
    assert trusting.detokenize({"tokens": trusting.chat(body)["token_ids"]})["prompt"] == "Xq"
    plain = Renderer.from_model("smollm2")
    expected = plain.chat({"messages": [USER]})["token_ids"]
    for name, value in {"tokenize": True, "tools": [], "return_dict": True, "chat_template": None}.items():
        body = {"messages": [USER], "chat_template_kwargs": {name: value}}
        assert plain.chat(body)["token_ids"] == expected
    for name in ("messages", "conversation", "chat.template"):
        with pytest.raises(RequestError, match=name):
            plain.chat({"messages": [USER], "chat_template_kwargs": {name.replace(".", "_"): "x"}})
