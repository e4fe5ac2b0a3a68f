"""What an architecture's own file says about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dragoman.engine.models.architecture import ModelConfig
from dragoman.engine.models.blocks import BlockLayout

Refine = Callable[[ModelConfig, Mapping[str, Any]], ModelConfig]


def unchanged(config: ModelConfig, _: Mapping[str, Any]) -> ModelConfig:
    """The configuration as the common keys give it."""
    return config


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """One architecture.

    ``model_types`` are the names in ``config.json``, ``gguf_names`` those in ``general.architecture``.
    ``gguf_interleaved_heads``: the converter to GGUF reordered query and key rows for the other way of
    pairing rotary dimensions; loading puts them back. ``gguf_weights`` names weights inside a layer
    where they are not those of :data:`dragoman.engine.weights.gguf.LAYER_NAMES`. ``norm_offset`` is
    added to norm weights of safetensors files (GGUF files hold the sum). ``refine`` reads the keys
    that only this architecture has.
    """

    layout: BlockLayout
    model_types: tuple[str, ...]
    gguf_names: tuple[str, ...]
    gguf_interleaved_heads: bool = False
    gguf_weights: Mapping[str, str] = field(default_factory=dict)
    norm_offset: float = 0.0
    refine: Refine = unchanged
