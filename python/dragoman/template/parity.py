"""Which engine renders a template: the built-in one where it prints what jinja2 prints, else jinja2."""

from __future__ import annotations

import json
import logging
from typing import Any, Literal

from dragoman import _core

LOGGER = logging.getLogger("dragoman")

Engine = Literal["auto", "minijinja", "jinja2"]


def compile_template(
    source: str, special_tokens: dict[str, Any], engine: Engine = "auto"
) -> tuple[_core.Template, Literal["minijinja", "jinja2"]]:
    """The template, and the engine that renders it. Raises ValueError for a source that neither engine reads."""
    tokens = json.dumps(special_tokens).encode()
    if engine == "minijinja":
        return _core.Template(source, tokens), "minijinja"
    if engine == "jinja2":
        return _fallback(source, special_tokens), "jinja2"
    try:
        template = _core.Template(source, tokens)
        fault = difference(template, source, special_tokens)
    except ValueError as error:
        fault = f"the built-in engine cannot read it: {error}"
    if fault is None:
        return template, "minijinja"
    template = _fallback(source, special_tokens)
    LOGGER.warning("the chat template is rendered by jinja2, which is slower: %s", fault)
    return template, "jinja2"


def difference(template: _core.Template, source: str, special_tokens: dict[str, Any]) -> str | None:
    """What the two engines print differently on the probe conversations; None where nothing."""
    from dragoman.template.jinja2_engine import Jinja2Template
    from dragoman.template.probes import PROBES

    reference = Jinja2Template(source, special_tokens)
    for number, probe in enumerate(PROBES):
        expected: tuple[str, list[tuple[int, int]]] | None
        try:
            expected = reference.render(aliased(probe))
        except Exception:
            expected = None
        try:
            rendered = template.render_json(json.dumps(probe).encode())
        except ValueError as error:
            if expected is not None:
                return f"probe {number} fails in the built-in engine: {error}"
            continue
        if expected is None:
            return f"probe {number} fails in jinja2 alone"
        if (rendered.text, rendered.assistant_spans) != expected:
            return f"probe {number} is printed differently"
    return None


def aliased(payload: dict[str, Any]) -> dict[str, Any]:
    """An input whose messages have their reasoning under the names that the core gives it before it renders."""
    messages = []
    for message in payload["messages"]:
        names = ("reasoning_content", "thinking", "reasoning")
        reasoning = next((message[name] for name in names if message.get(name) is not None), None)
        if reasoning is not None:
            message = {"thinking": reasoning, **message, "reasoning_content": reasoning}
        messages.append(message)
    return {**payload, "messages": messages}


def _fallback(source: str, special_tokens: dict[str, Any]) -> _core.Template:
    import threading

    from dragoman.template.jinja2_engine import Jinja2Template

    template = Jinja2Template(source, special_tokens)
    # A run keeps its spans and its budget in the environment.
    lock = threading.Lock()

    def render(payload: bytes) -> tuple[str, list[tuple[int, int]]]:
        with lock:
            return template.render(json.loads(payload))

    return _core.Template(source, json.dumps(special_tokens).encode(), render)
