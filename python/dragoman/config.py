"""What the Rust core needs to know of a served model, written down once and handed over as JSON."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import secrets
from typing import Any, Literal


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Limits on a request, each checked in `protocol::bounds` before the work that it guards.

    Every field has a flag: `body_bytes` is `--max-body-bytes`.
    """

    body_bytes: int = 32 * 1024 * 1024
    json_depth: int = 128
    messages: int = 4096
    tools: int = 1024
    prompts: int = 1024
    choices: int = 128
    state_bytes: int = 128 * 1024
    string_bytes: int = 64 * 1024
    template_steps: int = 5_000_000
    template_bytes: int = 64 * 1024 * 1024
    template_milliseconds: int = 5000


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ServingConfig:
    """A model as it is served.

    `vocab_size` is the number of ids the model knows; `default_sampling` holds the sampling fields of
    `generation_config.json` after overrides; `eos_token_ids` stop a generation. `stream_state_key` authenticates
    stream states: 16 bytes, random unless it is given.
    """

    served_model_names: tuple[str, ...]
    max_model_len: int
    vocab_size: int
    max_logprobs: int = 20
    default_sampling: dict[str, Any] = dataclasses.field(default_factory=dict)
    eos_token_ids: tuple[int, ...] = ()
    chat_template_content_format: Literal["auto", "string", "openai"] = "auto"
    default_chat_template_kwargs: dict[str, Any] = dataclasses.field(default_factory=dict)
    trust_request_chat_template: bool = False
    reasoning_effort_map: dict[str, str] = dataclasses.field(default_factory=dict)
    tool_call_parser: str | None = None
    reasoning_parser: str | None = None
    enable_auto_tool_choice: bool = False
    tokens_only: bool = False
    stream_state_key: bytes = dataclasses.field(default_factory=lambda: secrets.token_bytes(16), repr=False)
    bounds: Bounds = dataclasses.field(default_factory=Bounds)

    def to_json(self) -> bytes:
        """The form that `_core` reads."""
        fields = dataclasses.asdict(self) | {"stream_state_key": list(self.stream_state_key)}
        return json.dumps(fields).encode()


def stream_state_key(text: str) -> bytes:
    """The key that all servers get who are started with the same text."""
    return hashlib.blake2b(text.encode(), digest_size=16, person=b"stream_state").digest()
