"""Qwen 3: queries and keys are normalised head by head."""

from __future__ import annotations

from dragoman.engine.models.blocks import BlockLayout
from dragoman.engine.models.family import Family
from dragoman.engine.models.qwen2 import sliding_where_switched_on

FAMILY = Family(
    layout=BlockLayout(qk_norm="head"),
    model_types=("qwen3",),
    gguf_names=("qwen3",),
    refine=sliding_where_switched_on,
)
