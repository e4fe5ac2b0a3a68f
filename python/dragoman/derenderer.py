"""The derender step in Python: generated token ids in, OpenAI responses out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from dragoman import _core
from dragoman.model import LoadedModel, ModelOptions, load_model
from dragoman.renderer import Request, encode


class DerenderStream:
    """The deltas of one choice while its ids arrive. Results do not depend on where the ids are cut."""

    def __init__(self, core: _core.DerenderStream) -> None:
        self._core = core

    def push(self, token_ids: Sequence[int]) -> dict[str, Any]:
        """The delta that these ids complete; without text while text is held back."""
        return _object(self._core.push(token_ids))

    def finish(
        self, finish_reason: str | None = "stop", stop_reason: int | str | None = None
    ) -> dict[str, Any]:
        """The delta of what was held back; nothing may be pushed after it."""
        return _object(self._core.finish(finish_reason, stop_reason))


class Derenderer:
    """Turns generate responses into OpenAI responses: the answers that `dragoman launch render` gives.

    A body that cannot be derendered raises `dragoman.RequestError`. All methods release the GIL and may be
    called from several threads.
    """

    def __init__(self, model: LoadedModel) -> None:
        self._core = model.derenderer()

    @classmethod
    def from_model(cls, model: str, **options: Any) -> Derenderer:
        """Loads the tokenizer of `model`; `options` are the fields of `dragoman.model.ModelOptions`."""
        return cls(load_model(ModelOptions(model=model, **options)))

    def chat(self, request: Request) -> dict[str, Any]:
        """The chat completion, or with `"stream": true` the chunk and the new `stream_state`."""
        return _object(self.chat_bytes(encode(request)))

    def chat_bytes(self, body: bytes) -> bytes:
        """As `chat`, on the bytes of the HTTP bodies."""
        return self._core.chat(body)[0]

    def completions(self, request: Request) -> dict[str, Any]:
        """The text completion, or with `"stream": true` the chunk and the new `stream_state`."""
        return _object(self.completions_bytes(encode(request)))

    def completions_bytes(self, body: bytes) -> bytes:
        """As `completions`, on the bytes of the HTTP bodies."""
        return self._core.completions(body)[0]

    def stream(
        self, prompt_token_ids: Sequence[int] = (), chat_request: Request | None = None
    ) -> DerenderStream:
        """A stream for one choice; `chat_request` sets parsers and stop strings as on the wire."""
        request = None if chat_request is None else encode(chat_request)
        return DerenderStream(self._core.stream(prompt_token_ids, request))


def _object(reply: bytes) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(reply)
    return value
