"""What a resolved model consists of."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any


class ModelNotFoundError(Exception):
    """No such model, or one that lacks a file that is needed. The message says what to do about it."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ModelFiles:
    """The files of a model and the settings read from them.

    `name` is MODEL as it was given; `special_tokens` holds the strings that a chat template gets
    (`bos_token`, `eos_token`, ...); `weights` is a GGUF file or a directory with safetensors files, and None
    unless weights were asked for; `tokenizer_config` is kept for the limits that it holds.
    """

    name: str
    tokenizer_json: Path
    config: dict[str, Any]
    tokenizer_config: dict[str, Any]
    generation_config: dict[str, Any]
    chat_template: str | None
    special_tokens: dict[str, str]
    weights: Path | None
