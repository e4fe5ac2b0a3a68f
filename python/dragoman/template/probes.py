"""Conversations that a template is tried on: the built-in engine must print what jinja2 prints."""

from __future__ import annotations

from typing import Any

NOW = "2026-01-15T12:00:00"

TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Weather for a town: a > 10 & b < 5, 'quoted' — naïve",
        "parameters": {
            "type": "object",
            "properties": {
                "town": {"type": "string", "description": "The town", "enum": ["Oslo", "Rome"]},
                "days": {"type": "integer", "default": 1},
                "ratio": {"type": "number", "default": 1.0},
                "tags": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["town"],
        },
    },
}
ARGUMENTS = {"town": "Kraków 😀", "days": 2, "ratio": 1e-07, "exact": True, "none": None, "tags": ["a", "b"]}


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def assistant(content: Any, **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **fields}


def call(name: str, arguments: Any) -> dict[str, Any]:
    return {"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}}


def conversation(messages: list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
    return {"messages": messages, "add_generation_prompt": True, "now": NOW, **fields}


SYSTEM = {"role": "system", "content": "Be brief.\n"}
PARTS = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
CALLED = [
    user("weather?"),
    assistant("Let me look.", tool_calls=[call("get_weather", ARGUMENTS), call("get_weather", {})]),
    {"role": "tool", "tool_call_id": "call_1", "name": "get_weather", "content": '{"t": 3}'},
    user("thanks"),
]
PROBES: list[dict[str, Any]] = [
    conversation([user("Hi")]),
    conversation([user("  café 漢字 😀 {{ x }} <b>&\n\n")], add_generation_prompt=False),
    conversation([SYSTEM, user("a"), assistant("b"), user("c")]),
    conversation([user("a"), assistant("<think>\nhm\n</think>\n\nb"), user("c")]),
    conversation([user("a"), assistant("b", reasoning_content="hm"), user("c")]),
    conversation([user("a")], kwargs={"enable_thinking": False}),
    conversation([SYSTEM, user(PARTS)]),
    conversation([SYSTEM, user("weather?")], tools=[TOOL, TOOL]),
    conversation(CALLED, tools=[TOOL]),
    conversation(
        [user("a"), assistant("", tool_calls=[call("get_weather", {"town": "Oslo"})])], tools=[TOOL]
    ),
    conversation([user("a"), assistant(None, tool_calls=[call("f", {})])], add_generation_prompt=False),
    conversation([user("a")], documents=[{"title": "T", "text": "Body"}]),
    conversation([{"role": "developer", "content": "d"}, user("a")]),
    conversation(
        [user("a"), assistant("Once upon ")], add_generation_prompt=False, continue_final_message=True
    ),
]
