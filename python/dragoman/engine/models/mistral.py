"""Mistral: Llama with a sliding window on every layer, where one is set."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from dragoman.engine.models.architecture import ModelConfig
from dragoman.engine.models.blocks import BlockLayout
from dragoman.engine.models.configure import windows_of
from dragoman.engine.models.family import Family


def refine(config: ModelConfig, keys: Mapping[str, Any]) -> ModelConfig:
    return dataclasses.replace(config, windows=windows_of(keys, default_sliding=True))


FAMILY = Family(
    layout=BlockLayout(),
    model_types=("mistral", "ministral"),
    # Files made as "llama" are the usual ones, and load as Llama.
    gguf_names=("mistral3",),
    gguf_interleaved_heads=True,
    refine=refine,
)
