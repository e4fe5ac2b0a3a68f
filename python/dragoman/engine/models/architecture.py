"""What a model is, read once from its files and never changed: numbers only, no weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class RopeConfig:
    """Rotary settings of one kind of layer."""

    theta: float = 10000.0
    scaling: Mapping[str, Any] | None = None
    rotary_dim: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """A decoder-only transformer, as far as its shape goes.

    ``windows`` has one entry per layer: how many last positions it sees, ``None`` for all. ``rotary`` has
    one entry per layer: the index into ``ropes``, ``None`` for a layer without positions.
    """

    architecture: str
    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    norm_epsilon: float
    max_positions: int
    trained_positions: int
    eos_token_ids: tuple[int, ...]
    ropes: tuple[RopeConfig, ...]
    rotary: tuple[int | None, ...]
    windows: tuple[int | None, ...]
    tie_embeddings: bool = False
    activation: str = "silu"
    attention_scale: float = 0.0
    final_softcap: float | None = None
    embedding_scale: float | None = None
