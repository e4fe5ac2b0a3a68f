"""Chat templates in CPython's jinja2: the reference, and the fallback where the built-in engine differs.

The environment is the one of transformers' `apply_chat_template`: an immutable sandbox with trimmed blocks, loop
controls, `{% generation %}`, `raise_exception`, `strftime_now`, and `tojson` without HTML escapes. Added to it is
a budget: loops and calls are counted, and output and time are capped.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.parser
import jinja2.sandbox

Spans = list[tuple[int, int]]

MAX_STEPS = 5_000_000
MAX_SECONDS = 1.0
MAX_OUTPUT = 64 * 1024 * 1024
# Left in place of the text that an assistant turn ends in, to find where the prompt is cut.
CONTINUE_TAG = "CONTINUE_FINAL_MESSAGE_TAG "
REASONING_FIELDS = ("reasoning_content", "thinking", "reasoning")


class BudgetError(jinja2.TemplateError):
    """A template that takes too many steps, too long, or makes too much text."""


class Run:
    """One rendering: the budget, the clock of `strftime_now`, and the spans found so far."""

    def __init__(self, now: datetime | None) -> None:
        self.now = now
        self.steps = 0
        self.deadline = time.monotonic() + MAX_SECONDS
        self.pieces: list[str] = []
        self.spans: Spans = []

    def tick(self) -> str:
        """Counts one step. Raises BudgetError."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise BudgetError(f"template takes more than {MAX_STEPS} steps")
        if self.steps % 256 == 0 and time.monotonic() > self.deadline:
            raise BudgetError(f"template takes longer than {MAX_SECONDS} s")
        return ""


class Environment(jinja2.sandbox.ImmutableSandboxedEnvironment):
    """The sandbox, with every loop body and every growing operator counted."""

    intercepted_binops = frozenset(["*", "**"])

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
        )
        self.run = Run(None)
        self.filters["tojson"] = to_json
        self.globals["raise_exception"] = raise_exception
        self.globals["strftime_now"] = self._strftime_now
        self.globals["namespace"] = Namespace
        self.globals[TICK] = lambda: self.run.tick()

    def _strftime_now(self, format: str) -> str:
        return (self.run.now or datetime.now()).strftime(format)

    def _parse(self, source: str, name: str | None, filename: str | None) -> jinja2.nodes.Template:
        tree = super()._parse(source, name, filename)
        for loop in tree.find_all(jinja2.nodes.For):
            call = jinja2.nodes.Call(jinja2.nodes.Name(TICK, "load"), [], [], None, None)
            step = jinja2.nodes.ExprStmt(call).set_lineno(loop.lineno)
            loop.body.insert(0, step)
            step.set_environment(self)
        return tree

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """`*` and `**` on what may grow without bound. Raises BudgetError."""
        if operator == "**" and isinstance(left, int) and isinstance(right, int):
            if right > 0 and left.bit_length() * right > 8 * MAX_OUTPUT:
                raise BudgetError("template makes a number that is too large")
        elif operator == "*":
            for sequence, count in ((left, right), (right, left)):
                if isinstance(sequence, str | list | tuple) and isinstance(count, int):
                    if len(sequence) * count > MAX_OUTPUT:
                        raise BudgetError("template makes a text or list that is too large")
        return super().call_binop(context, operator, left, right)


# Random, so that no template can put something else in its place.
TICK = f"tick_{secrets.token_hex(8)}"


class Generation(jinja2.ext.Extension):
    """`{% generation %}…{% endgeneration %}`: marks what an assistant wrote."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: jinja2.parser.Parser) -> jinja2.nodes.Node:
        """A call block around the body."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("mark"), [], [], body).set_lineno(line)

    def mark(self, caller: Callable[[], str]) -> str:
        """Notes where the body's text begins and ends, in code points of the output."""
        text = caller()
        environment = self.environment
        assert isinstance(environment, Environment)
        start = sum(map(len, environment.run.pieces))
        environment.run.spans.append((start, start + len(text)))
        return text


class Namespace(jinja2.utils.Namespace):
    """jinja2's, without names that begin with an underscore."""

    def __setitem__(self, name: str, value: Any) -> None:
        if str(name).startswith("_"):
            raise jinja2.exceptions.SecurityError(f"a namespace takes no name such as {name!r}")
        super().__setitem__(name, value)


def to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """`json.dumps`, without HTML escapes."""
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


def raise_exception(message: str) -> None:
    """How a template refuses a conversation."""
    raise jinja2.TemplateError(message)


class Jinja2Template:
    """A chat template, compiled. Not for use by several threads at once."""

    def __init__(self, source: str, special_tokens: dict[str, Any]) -> None:
        self._source = source
        self._environment = Environment()
        self._template = self._environment.from_string(source)
        self._special_tokens = special_tokens

    def render(self, payload: dict[str, Any]) -> tuple[str, Spans]:
        """The text and the spans for an input as `ChatTemplate.render_json` takes it.

        Raises jinja2.TemplateError, or what Python raises inside the template.
        """
        messages = [alias_reasoning(message) for message in payload.get("messages") or []]
        continued = None
        if payload.get("continue_final_message"):
            continued = mark_final_message(messages, self._source)
        now = payload.get("now")
        run = self._environment.run = Run(datetime.fromisoformat(now) if now else None)
        variables = {
            **self._special_tokens,
            **(payload.get("kwargs") or {}),
            "messages": messages,
            "tools": payload.get("tools"),
            "documents": payload.get("documents"),
            "add_generation_prompt": bool(payload.get("add_generation_prompt")),
        }
        try:
            size = 0
            for piece in self._template.generate(variables):
                run.pieces.append(piece)
                run.tick()
                size += len(piece)
                if size > MAX_OUTPUT:
                    raise BudgetError(f"template makes more than {MAX_OUTPUT} characters")
        except RecursionError:
            raise BudgetError("template recursion is too deep") from None
        text = "".join(run.pieces)
        if continued is not None:
            text = cut_at_final_message(text, continued)
        return text, run.spans


def alias_reasoning(message: Any) -> Any:
    """A message whose reasoning goes by any of its names has it under all that templates read."""
    if not isinstance(message, dict):
        raise TypeError("a chat message is an object")
    reasoning = next((message[key] for key in REASONING_FIELDS if message.get(key) is not None), None)
    if reasoning is None:
        return dict(message)
    return {"thinking": reasoning, **message, "reasoning_content": reasoning}


def mark_final_message(messages: list[dict[str, Any]], source: str) -> str:
    """Puts the tag behind the last message's text, and returns that text. Raises ValueError."""
    if not messages:
        raise ValueError("continue_final_message is set, but the conversation is empty")
    content = messages[-1].get("content")
    if content is None:
        raise ValueError("continue_final_message is set, but the final message has no content to continue")
    if "content" not in source:
        raise ValueError("continue_final_message is set, but the template does not read content")
    if isinstance(content, list):
        blocks = [dict(block) if isinstance(block, dict) else block for block in content]
        messages[-1]["content"] = blocks
        for block in reversed(blocks):
            if "text" in block:
                text: str = block["text"]
                block["text"] = text + CONTINUE_TAG
                return text
        raise ValueError("continue_final_message is set, but the final message has no text to continue")
    messages[-1]["content"] = content + CONTINUE_TAG
    return str(content)


def cut_at_final_message(text: str, final: str) -> str:
    """The rendered text up to the end of the final message. Raises ValueError."""
    tag = CONTINUE_TAG.strip()
    if final.strip() not in text or tag not in text:
        raise ValueError("continue_final_message is set, but the template drops the final message")
    place = text.rindex(tag)
    kept = text[:place]
    # Where the template trimmed the message, the blank behind the tag is gone, and so is that before it.
    return kept if text.startswith(CONTINUE_TAG, place) else kept.rstrip()
