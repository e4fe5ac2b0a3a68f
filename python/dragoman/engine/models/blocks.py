"""The decoder that every architecture here is a variation of, and the switches that make the variation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from torch import Tensor
from torch.nn import functional

from dragoman.engine.attention.batch import ForwardBatch
from dragoman.engine.layers import ACTIVATIONS, RMSNorm, apply_rotary
from dragoman.engine.linear import Linear
from dragoman.engine.models.architecture import ModelConfig
from dragoman.engine.rotary import RotaryTable, build_table


class WeightSource(Protocol):
    """Weights by their Hugging Face names, in the type and on the device the model runs in."""

    def get(self, name: str) -> Tensor:
        """The named weight; raises ``UnsupportedModelError`` where it is missing."""
        ...

    def find(self, name: str) -> Tensor | None:
        """The named weight, or ``None``."""
        ...

    def norm(self, name: str) -> Tensor:
        """The factor a norm multiplies by."""
        ...

    def rope_factors(self) -> Tensor | None:
        """Ready-made divisors of the rotary frequencies, where the file brings them."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockLayout:
    """Where a decoder layer normalises, and how its weights are named.

    The four norms are names inside a layer, ``None`` where the architecture has none. ``qk_norm`` "head"
    normalises every query and key head, "full" all heads together.
    """

    attention_norm: str | None = "input_layernorm"
    attention_post_norm: str | None = None
    mlp_norm: str | None = "post_attention_layernorm"
    mlp_post_norm: str | None = None
    qk_norm: Literal["head", "full"] | None = None


class Attend(Protocol):
    """Attention of one layer over a step's batch; see :class:`dragoman.engine.attention.paged`."""

    def __call__(self, layer: int, heads: Tensor, batch: ForwardBatch) -> Tensor: ...


class DecoderLayer:
    """Attention and gated MLP with their norms."""

    def __init__(self, config: ModelConfig, layout: BlockLayout, index: int, source: WeightSource) -> None:
        prefix = f"model.layers.{index}."
        self.index = index
        self.rotary = config.rotary[index]
        self.num_heads = config.num_heads
        self.num_kv_heads = config.num_kv_heads
        self.head_dim = config.head_dim
        self.activation = ACTIVATIONS[config.activation]

        def norm(name: str | None) -> RMSNorm | None:
            return (
                None if name is None else RMSNorm(source.norm(f"{prefix}{name}.weight"), config.norm_epsilon)
            )

        self.attention_norm = norm(layout.attention_norm)
        self.attention_post_norm = norm(layout.attention_post_norm)
        self.mlp_norm = norm(layout.mlp_norm)
        self.mlp_post_norm = norm(layout.mlp_post_norm)
        self.qk_norm = layout.qk_norm
        self.query_norm = norm("self_attn.q_norm" if layout.qk_norm else None)
        self.key_norm = norm("self_attn.k_norm" if layout.qk_norm else None)
        self.qkv = _fused(source, f"{prefix}self_attn.", "qkv_proj", ("q_proj", "k_proj", "v_proj"))
        self.out = _fused(source, f"{prefix}self_attn.", "o_proj", ())
        self.gate_up = _fused(source, f"{prefix}mlp.", "gate_up_proj", ("gate_proj", "up_proj"))
        self.down = _fused(source, f"{prefix}mlp.", "down_proj", ())

    def __call__(
        self, x: Tensor, residual: Tensor | None, batch: ForwardBatch, attend: Attend
    ) -> tuple[Tensor, Tensor]:
        """``x`` is what the layer before added, ``residual`` the sum up to then; both ``[tokens, hidden]``.

        The sum of the two is left to the next norm, which sees it before it is rounded.
        """
        normed, residual = _enter(self.attention_norm, x, residual)
        x = self.out(attend(self.index, self._heads(normed, batch), batch))
        if self.attention_post_norm is not None:
            x = self.attention_post_norm(x)
        normed, residual = _enter(self.mlp_norm, x, residual)
        gate, up = self.gate_up(normed).chunk(2, -1)
        x = self.down(self.activation(gate).mul_(up))
        if self.mlp_post_norm is not None:
            x = self.mlp_post_norm(x)
        return x, residual

    def _heads(self, x: Tensor, batch: ForwardBatch) -> Tensor:
        """Queries, keys and values side by side: ``[tokens, heads + 2 * kv_heads, head_dim]``."""
        heads = self.qkv(x).view(x.shape[0], self.num_heads + 2 * self.num_kv_heads, self.head_dim)
        rotated = heads[:, : self.num_heads + self.num_kv_heads]
        if self.query_norm is not None and self.key_norm is not None:
            queries, keys = rotated[:, : self.num_heads], rotated[:, self.num_heads :]
            if self.qk_norm == "full":
                queries.copy_(self.query_norm(queries.flatten(1)).view_as(queries))
                keys.copy_(self.key_norm(keys.flatten(1)).view_as(keys))
            else:
                queries.copy_(self.query_norm(queries))
                keys.copy_(self.key_norm(keys))
        if self.rotary is not None:
            cos, sin = batch.rotary[self.rotary]
            apply_rotary(rotated, cos, sin)
        return heads


class Decoder:
    """Embedding, layers, final norm and output projection."""

    def __init__(
        self,
        config: ModelConfig,
        layout: BlockLayout,
        source: WeightSource,
        *,
        on_layer: Callable[[int, int], None] | None = None,
    ) -> None:
        self.config = config
        self.embedding = source.get("model.embed_tokens.weight")
        self.device = self.embedding.device
        self.dtype = self.embedding.dtype
        self.embedding_scale: Tensor | None = None
        if config.embedding_scale is not None:
            # Rounded to the model's type, as it was in training.
            self.embedding_scale = torch.tensor(config.embedding_scale, dtype=self.dtype, device=self.device)
        self.layers: list[DecoderLayer] = []
        for index in range(config.num_layers):
            self.layers.append(DecoderLayer(config, layout, index, source))
            if on_layer is not None:
                on_layer(index + 1, config.num_layers)
        self.norm = RMSNorm(source.norm("model.norm.weight"), config.norm_epsilon)
        head = None if config.tie_embeddings else source.find("lm_head.weight")
        self.head = Linear(self.embedding if head is None else head)
        factors = source.rope_factors()
        self.tables: list[RotaryTable] = [
            build_table(
                rotary_dim=rope.rotary_dim or config.head_dim,
                theta=rope.theta,
                scaling=rope.scaling,
                positions=config.max_positions,
                trained_positions=config.trained_positions,
                device=self.device,
                dtype=self.dtype,
                frequency_factors=factors,
            )
            for rope in config.ropes
        ]

    def __call__(self, batch: ForwardBatch, attend: Attend) -> Tensor:
        """Hidden states before the final norm, float32 ``[tokens, hidden]``."""
        batch.rotary = [(table.cos[batch.positions], table.sin[batch.positions]) for table in self.tables]
        x = functional.embedding(batch.token_ids, self.embedding)
        if self.embedding_scale is not None:
            x = x * self.embedding_scale
        residual = None
        for layer in self.layers:
            x, residual = layer(x, residual, batch, attend)
        return x.float() if residual is None else x.float() + residual

    def logits(self, hidden: Tensor) -> Tensor:
        """Logits of chosen rows of the hidden states, ``[rows, vocabulary]``."""
        logits = self.head(self.norm(hidden, self.dtype))
        cap = self.config.final_softcap
        return logits if cap is None else torch.tanh(logits / cap) * cap


def _enter(norm: RMSNorm | None, x: Tensor, residual: Tensor | None) -> tuple[Tensor, Tensor]:
    """Add to the residual and normalise: what a half of a layer reads, and the sum it adds to."""
    if norm is None:
        total = x if residual is None else x + residual
        return total, total
    if residual is None:
        return norm(x), x
    return norm.after_sum(x, residual)


def _fused(source: WeightSource, prefix: str, fused: str, parts: tuple[str, ...]) -> Linear:
    """One product in place of several that read the same input: fewer, larger, faster."""
    weight = source.find(f"{prefix}{fused}.weight")
    if weight is not None:
        return Linear(weight, source.find(f"{prefix}{fused}.bias"))
    if not parts:
        return Linear(source.get(f"{prefix}{fused}.weight"))
    weights = [source.get(f"{prefix}{part}.weight") for part in parts]
    biases = [source.find(f"{prefix}{part}.bias") for part in parts]
    joined = None
    if any(bias is not None for bias in biases):
        joined = torch.cat(
            [
                weight.new_zeros(weight.shape[0]) if bias is None else bias
                for weight, bias in zip(weights, biases, strict=True)
            ]
        )
    return Linear(torch.cat(weights), joined)
