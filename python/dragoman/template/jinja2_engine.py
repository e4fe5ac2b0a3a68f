"""Chat templates in CPython's jinja2: the reference, and the fallback where the built-in engine differs.

The environment is the one of transformers' `apply_chat_template`: an immutable sandbox with trimmed blocks, loop
controls, `{% generation %}`, `raise_exception`, `strftime_now`, and `tojson` without HTML escapes. Added to it is
a budget: loops and calls are counted, and output and time are capped.
"""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import wraps
from typing import Any

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.parser
import jinja2.sandbox
import jinja2.visitor

Spans = list[tuple[int, int]]

MAX_STEPS = 5_000_000
MAX_SECONDS = 5.0
MAX_OUTPUT = 64 * 1024 * 1024
# Left in place of the text that an assistant turn ends in, to find where the prompt is cut.
CONTINUE_TAG = "CONTINUE_FINAL_MESSAGE_TAG "


class BudgetError(jinja2.TemplateError):
    """A template that takes too many steps, too long, or makes too much text."""


class Run:
    """One rendering: the budget, the clock of `strftime_now`, and the spans found so far."""

    def __init__(self, now: datetime | None, seconds: float = MAX_SECONDS) -> None:
        self.now = now
        self.steps = 0
        self.seconds = seconds
        self.deadline = time.monotonic() + seconds
        self.pieces: list[str] = []
        self.spans: Spans = []

    def tick(self) -> str:
        """Counts one step. Raises BudgetError."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise BudgetError(f"template takes more than {MAX_STEPS} steps")
        if self.steps % 256 == 0 and time.monotonic() > self.deadline:
            raise BudgetError(f"template takes longer than {self.seconds} s")
        return ""


class Environment(jinja2.sandbox.ImmutableSandboxedEnvironment):
    """The sandbox, with every loop body counted and everything that makes text grow measured beforehand."""

    intercepted_binops = frozenset(["+", "*", "**", "%"])

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
        self.globals[JOIN] = join
        for name in WIDENING & self.filters.keys():
            self.filters[name] = measured(self.filters[name])

    def _strftime_now(self, format: str) -> str:
        return (self.run.now or datetime.now()).strftime(format)

    def _parse(self, source: str, name: str | None, filename: str | None) -> jinja2.nodes.Template:
        tree: jinja2.nodes.Template = Counted().visit(super()._parse(source, name, filename))
        tree.set_environment(self)
        return tree

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Operators whose result may be far larger than what they are given. Raises BudgetError."""
        sizes = [len(side) if isinstance(side, SIZED) else None for side in (left, right)]
        if operator == "+" and None not in sizes:
            check_size(sum(size or 0 for size in sizes))
        elif operator == "*":
            for size, count in ((sizes[0], right), (sizes[1], left)):
                if size is not None and isinstance(count, int):
                    check_size(size * count)
        elif operator == "**" and isinstance(left, int) and isinstance(right, int):
            check_size(left.bit_length() * max(right, 0) // 8)
        elif operator == "%" and isinstance(left, str):
            check_format(left)
        return super().call_binop(context, operator, left, right)

    def call(self, context: Any, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        """A call; methods that widen text are measured. Raises BudgetError."""
        if isinstance(getattr(function, "__self__", None), str):
            if function.__name__ in WIDENING:
                check_widths(args, kwargs)
            elif function.__name__ in ("format", "format_map"):
                check_format(function.__self__)
            elif function.__name__ == "replace" and len(args) > 1 and isinstance(args[1], str):
                check_size((len(function.__self__) + 1) * len(args[1]))
        return super().call(context, function, *args, **kwargs)


# Random, so that no template can put something else in their place.
TICK = f"tick_{secrets.token_hex(8)}"
JOIN = f"join_{secrets.token_hex(8)}"
SIZED = (str, list, tuple)
# Methods and filters that pad to a width.
WIDENING = frozenset(["center", "ljust", "rjust", "zfill", "expandtabs", "indent"])
LONG_NUMBER = re.compile(r"\d{7}")


class Counted(jinja2.visitor.NodeTransformer):
    """Puts a step into every loop, and `~` into a function that measures."""

    def visit_For(self, loop: jinja2.nodes.For) -> jinja2.nodes.Node:
        self.generic_visit(loop)
        step = jinja2.nodes.ExprStmt(_call(TICK, []))
        loop.body.insert(0, step.set_lineno(loop.lineno))
        return loop

    def visit_Concat(self, concat: jinja2.nodes.Concat) -> jinja2.nodes.Node:
        self.generic_visit(concat)
        return _call(JOIN, concat.nodes).set_lineno(concat.lineno)


def _call(name: str, arguments: list[jinja2.nodes.Expr]) -> jinja2.nodes.Call:
    return jinja2.nodes.Call(jinja2.nodes.Name(name, "load"), arguments, [], None, None)


def join(*parts: Any) -> str:
    """`~`. Raises BudgetError."""
    texts = [str(part) for part in parts]
    check_size(sum(map(len, texts)))
    return "".join(texts)


def check_size(size: int) -> None:
    """Raises BudgetError for a text, list or number that is too large to make."""
    if size > MAX_OUTPUT:
        raise BudgetError(f"template makes something of size {size}, limit {MAX_OUTPUT}")


def check_widths(args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Raises BudgetError for a width that is too large."""
    for value in (*args, *kwargs.values()):
        if isinstance(value, int):
            check_size(value)


def check_format(text: str) -> None:
    """Raises BudgetError for a format with a width of a million or more."""
    if LONG_NUMBER.search(text):
        raise BudgetError("template formats to a width that is too large")


def measured(function: Callable[..., Any]) -> Callable[..., Any]:
    """A filter whose widths are checked."""

    @wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        check_widths(args, kwargs)
        return function(*args, **kwargs)

    return checked


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

    def render(self, payload: dict[str, Any], seconds: float = MAX_SECONDS) -> tuple[str, Spans]:
        """The text and the spans for an input as `ChatTemplate.render_json` takes it, within `seconds`.

        Raises jinja2.TemplateError, or what Python raises inside the template.
        """
        messages = [_message(message) for message in payload.get("messages") or []]
        continued = None
        if payload.get("continue_final_message"):
            continued = mark_final_message(messages, self._source)
        now = payload.get("now")
        run = self._environment.run = Run(datetime.fromisoformat(now) if now else None, seconds)
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
            # The spans would count the tag.
            return cut_at_final_message(text, continued), []
        return text, run.spans


def _message(message: Any) -> dict[str, Any]:
    """A message of its own, so that it may be marked. Raises TypeError."""
    if not isinstance(message, dict):
        raise TypeError("a chat message is an object")
    return dict(message)


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
