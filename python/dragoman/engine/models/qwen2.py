"""Qwen 2 and 2.5: Llama with biases on queries, keys and values."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from dragoman.engine.models.architecture import ModelConfig
from dragoman.engine.models.blocks import BlockLayout
from dragoman.engine.models.configure import windows_of
from dragoman.engine.models.family import Family


def sliding_where_switched_on(config: ModelConfig, keys: Mapping[str, Any]) -> ModelConfig:
    """Layers from ``max_window_layers`` on slide, and only with ``use_sliding_window``."""
    if not keys.get("use_sliding_window") or keys.get("sliding_window") is None:
        return config
    if keys.get("layer_types") is not None:
        return dataclasses.replace(config, windows=windows_of(keys, default_sliding=False))
    first = int(keys.get("max_window_layers", 0))
    window = int(keys["sliding_window"])
    windows = tuple(window if layer >= first else None for layer in range(config.num_layers))
    return dataclasses.replace(config, windows=windows)


FAMILY = Family(
    layout=BlockLayout(),
    model_types=("qwen2",),
    gguf_names=("qwen2",),
    refine=sliding_where_switched_on,
)
