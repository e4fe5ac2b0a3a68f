"""A chat template for use on its own."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from dragoman.template.parity import Engine, compile_template


@dataclasses.dataclass(frozen=True, slots=True)
class Rendered:
    """`assistant_spans` are half-open ranges of code points that `{% generation %}` blocks wrote."""

    text: str
    assistant_spans: list[tuple[int, int]]
    engine: Literal["minijinja", "jinja2"]


class ChatTemplate:
    """A Jinja chat template with the semantics of transformers' `apply_chat_template`.

    `special_tokens` are variables such as `bos_token`. `engine="auto"` renders with the built-in engine where it
    prints what jinja2 prints on a set of probe conversations, and with jinja2 otherwise.
    """

    def __init__(
        self, source: str, special_tokens: Mapping[str, Any] | None = None, engine: Engine = "auto"
    ) -> None:
        """Raises ValueError where `source` is no template."""
        self._template, self.engine = compile_template(source, dict(special_tokens or {}), engine)

    def render(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None = None,
        documents: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = False,
        continue_final_message: bool = False,
        now: datetime | None = None,
        **kwargs: Any,
    ) -> Rendered:
        """Renders a conversation; `now` fixes the clock of `strftime_now`.

        Raises ValueError with the message that the template gives to `raise_exception`, and for what jinja2 or
        Python would refuse.
        """
        payload = {
            "messages": messages,
            "tools": tools,
            "documents": documents,
            "add_generation_prompt": add_generation_prompt,
            "continue_final_message": continue_final_message,
            "kwargs": kwargs,
            "now": now and now.isoformat(),
        }
        return self.render_json(json.dumps(payload, ensure_ascii=False).encode())

    def render_json(self, payload: bytes | str, now: datetime | None = None) -> Rendered:
        """Renders a whole input given as JSON, whose numbers keep their text.

        Keys: `messages`, `tools`, `documents`, `add_generation_prompt`, `continue_final_message`, `kwargs` (further
        variables), `now` (ISO 8601), and `normalize`: whether message keys whose value is null are dropped first.
        """
        if isinstance(payload, str):
            payload = payload.encode()
        rendered = self._template.render_json(payload, None if now is None else now.isoformat())
        return Rendered(rendered.text, rendered.assistant_spans, self.engine)
