"""How a server is set up: what it serves, where, and to whom."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

from dragoman.model import ModelOptions

# `render`: no engine. `tokens-only`: the scale-out endpoints with an engine. `serve`: the OpenAI endpoints.
Mode = Literal["render", "tokens-only", "serve"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """`scale_out` says whether the scale-out endpoints are there, `trainer` whether those that pause the engine and
    change its weights are; `engine` holds fields of `EngineConfig`.

    `api_keys` empty means that anyone may ask. `core_threads` bounds the work on large bodies. `max_log_len`
    bounds the characters of a request in the log.
    """

    mode: Mode
    model: ModelOptions
    scale_out: bool
    trainer: bool = False
    api_keys: tuple[str, ...] = ()
    root_path: str = ""
    core_threads: int = 4
    enable_prompt_tokens_details: bool = False
    log_requests: bool = False
    max_log_len: int | None = None
    engine: dict[str, Any] = dataclasses.field(default_factory=dict)
