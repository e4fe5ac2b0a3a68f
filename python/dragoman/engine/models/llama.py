"""Llama, and the models that are Llama by another name (SmolLM2, and Mistral in GGUF files)."""

from __future__ import annotations

from dragoman.engine.models.blocks import BlockLayout
from dragoman.engine.models.family import Family

FAMILY = Family(
    layout=BlockLayout(),
    model_types=("llama",),
    gguf_names=("llama",),
    gguf_interleaved_heads=True,
)
