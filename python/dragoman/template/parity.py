"""Which engine renders a template: the built-in one where it prints what jinja2 prints, else jinja2."""

from __future__ import annotations

import json
import logging
import time
from typing import Any, Literal

from dragoman import _core

LOGGER = logging.getLogger("dragoman")

Engine = Literal["auto", "minijinja", "jinja2"]


# What proving a template may take.
PROOF_SECONDS = 20.0


def compile_template(
    source: str, special_tokens: dict[str, Any], engine: Engine = "auto", proof_seconds: float = PROOF_SECONDS
) -> tuple[_core.Template, Literal["minijinja", "jinja2"]]:
    """The template, and the engine that renders it. Raises ValueError for a source that neither engine reads."""
    tokens = json.dumps(special_tokens).encode()
    if engine == "minijinja":
        return _core.Template(source, tokens), "minijinja"
    if engine == "jinja2":
        return _fallback(source, special_tokens), "jinja2"
    try:
        template = _core.Template(source, tokens)
        fault = difference(template, source, special_tokens, proof_seconds)
    except ValueError as error:
        fault = f"the built-in engine cannot read it: {error}"
    if fault is None:
        return template, "minijinja"
    template = _fallback(source, special_tokens)
    LOGGER.warning("the chat template is rendered by jinja2, which is slower: %s", fault)
    return template, "jinja2"


def difference(
    template: _core.Template, source: str, special_tokens: dict[str, Any], seconds: float = PROOF_SECONDS
) -> str | None:
    """What the two engines print differently on the probe conversations; None where nothing.

    Ends early where the template takes too much: the built-in engine refuses that sooner than jinja2.
    """
    from dragoman.template.jinja2_engine import BudgetError, Jinja2Template
    from dragoman.template.probes import PROBES

    reference = Jinja2Template(source, special_tokens)
    end = time.monotonic() + seconds
    for number, probe in enumerate(PROBES):
        printed = expected = error = None
        try:
            rendered = template.render_json(json.dumps(probe).encode())
            printed = (rendered.text, rendered.assistant_spans)
        except _core.TemplateBudgetError:
            return None
        except ValueError as raised:
            error = raised
        try:
            expected = reference.render(aliased(probe), max(0.0, end - time.monotonic()))
        except BudgetError:
            return None
        except Exception as raised:
            LOGGER.debug("probe %d fails in jinja2: %s", number, raised)
        if printed != expected:
            fails = f"fails in the built-in engine: {error}" if printed is None else "is printed differently"
            return f"probe {number} {fails}"
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
