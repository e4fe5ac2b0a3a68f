"""SmolLM 3: Llama in which every fourth layer has no positions."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from dragoman.engine.models.architecture import ModelConfig
from dragoman.engine.models.blocks import BlockLayout
from dragoman.engine.models.family import Family
from dragoman.engine.models.qwen2 import sliding_where_switched_on

DEFAULT_INTERVAL = 4


def refine(config: ModelConfig, keys: Mapping[str, Any]) -> ModelConfig:
    """``no_rope_layers`` has a 1 for every layer that does have rotary positions."""
    config = sliding_where_switched_on(config, keys)
    rotated = keys.get("no_rope_layers")
    if rotated is None:
        interval = int(keys.get("no_rope_layer_interval") or DEFAULT_INTERVAL)
        rotated = [(layer + 1) % interval for layer in range(config.num_layers)]
    return dataclasses.replace(config, rotary=tuple(0 if flag else None for flag in rotated))


FAMILY = Family(
    layout=BlockLayout(),
    model_types=("smollm3",),
    gguf_names=("smollm3",),
    gguf_interleaved_heads=True,
    refine=refine,
)
