"""The render step in Python: OpenAI requests in, generate requests out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dragoman.model import LoadedModel, ModelOptions, load_model

Request = Mapping[str, Any]


def encode(request: Request) -> bytes:
    """A request as the core reads it. Raises ValueError for what JSON cannot hold."""
    return json.dumps(request, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


class Renderer:
    """Turns requests into generate requests: the same answers that `dragoman launch render` gives.

    A request that cannot be rendered raises `dragoman.RequestError`. All methods release the GIL and may be
    called from several threads.
    """

    def __init__(self, model: LoadedModel) -> None:
        self._core = model.renderer()

    @classmethod
    def from_model(cls, model: str, **options: Any) -> Renderer:
        """Loads the tokenizer and template of `model`: a directory, a GGUF file, a hub id or a packaged name.

        `options` are the fields of `dragoman.model.ModelOptions`, for one `max_model_len=4096`.
        """
        return cls(load_model(ModelOptions(model=model, **options)))

    def chat(self, request: Request, request_id: str | None = None) -> dict[str, Any]:
        """The generate request of a chat completion request."""
        return _object(self.chat_bytes(encode(request), request_id))

    def chat_bytes(self, body: bytes, request_id: str | None = None) -> bytes:
        """As `chat`, on the bytes of the HTTP bodies."""
        return self._core.chat(body, request_id)

    def completions(self, request: Request, request_id: str | None = None) -> list[dict[str, Any]]:
        """The generate requests of a completion request, one for each prompt."""
        reply: list[dict[str, Any]] = json.loads(self.completions_bytes(encode(request), request_id))
        return reply

    def completions_bytes(self, body: bytes, request_id: str | None = None) -> bytes:
        """As `completions`, on the bytes of the HTTP bodies."""
        return self._core.completions(body, request_id)

    def messages(self, request: Request, request_id: str | None = None) -> dict[str, Any]:
        """The generate request of an Anthropic messages request."""
        return _object(self._core.messages(encode(request), request_id))

    def responses(self, request: Request, request_id: str | None = None) -> dict[str, Any]:
        """The generate request of an OpenAI Responses request."""
        return _object(self._core.responses(encode(request), request_id))

    def tokenize(self, request: Request) -> dict[str, Any]:
        """The answer of `/tokenize`."""
        return _object(self._core.tokenize(encode(request)))

    def detokenize(self, request: Request) -> dict[str, Any]:
        """The answer of `/detokenize`."""
        return _object(self._core.detokenize(encode(request)))


def _object(reply: bytes) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(reply)
    return value
