"""Phi 3, 3.5 and 4-mini: fused projections, partial and long rotary positions, a sliding window."""

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
    model_types=("phi3",),
    gguf_names=("phi3",),
    gguf_weights={"mlp.gate_up_proj": "ffn_up"},
    refine=refine,
)
