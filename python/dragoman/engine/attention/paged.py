"""Attention over paged keys and values with torch's own kernels; the same code on a CPU and on a GPU."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from dragoman.engine.attention.batch import DecodeGroup, ForwardBatch, PrefillGroup
from dragoman.engine.models.architecture import ModelConfig


class PagedAttention:
    """Holds the cache tensors and attends.

    Every layer's cache is ``[2 * kv_heads, blocks * block_size, head_dim]``, keys first: one row of the view
    ``[2 * kv_heads * blocks, block_size * head_dim]`` is one block of one head, so gathering a step's blocks
    is one row copy that yields contiguous ``[keys, head_dim]`` matrices per head, which is what the
    attention kernels are fastest on.
    """

    def __init__(
        self, config: ModelConfig, num_blocks: int, block_size: int, device: torch.device, dtype: torch.dtype
    ) -> None:
        self.num_blocks = num_blocks
        self.block_size = block_size
        self.num_heads = config.num_heads
        self.num_kv_heads = config.num_kv_heads
        self.group = config.num_heads // config.num_kv_heads
        self.head_dim = config.head_dim
        self.scale = config.attention_scale or config.head_dim**-0.5
        self.windows = config.windows
        self.layers = [
            torch.zeros(2 * config.num_kv_heads, num_blocks * block_size, config.head_dim, device=device, dtype=dtype)
            for _ in range(config.num_layers)
        ]
        self.block_rows = [layer.view(-1, block_size * config.head_dim) for layer in self.layers]
        self._head_offsets = (
            torch.arange(2 * config.num_kv_heads, device=device).mul_(num_blocks).view(2, 1, config.num_kv_heads, 1)
        )

    def gather_index(self, block_tables: Tensor) -> Tensor:
        """Rows of the block view for ``[sequences, blocks]`` tables, ordered keys/values, sequence, head, block."""
        return (self._head_offsets + block_tables.unsqueeze(1)).view(-1)

    def __call__(self, layer: int, heads: Tensor, batch: ForwardBatch) -> Tensor:
        """Write a step's keys and values, then attend.

        ``heads`` is ``[tokens, heads + 2 * kv_heads, head_dim]``; gives ``[tokens, heads * head_dim]``.
        """
        self.layers[layer].index_copy_(1, batch.slots, heads[:, self.num_heads :].transpose(0, 1))
        window = self.windows[layer]
        parts = [self._decode(layer, heads, group, window) for group in batch.decodes]
        parts += [self._prefill(layer, heads, group, window) for group in batch.prefills]
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def _cached(self, layer: int, gather: Tensor, count: int) -> tuple[Tensor, Tensor]:
        """Gathered keys and values, each ``[sequences, kv_heads, keys, head_dim]``."""
        rows = functional.embedding(gather, self.block_rows[layer])
        both = rows.view(2, count, self.num_kv_heads, -1, self.head_dim)
        return both[0], both[1]

    def _decode(self, layer: int, heads: Tensor, group: DecodeGroup, window: int | None) -> Tensor:
        keys, values = self._cached(layer, group.gather, group.count)
        if keys.shape[2] != group.num_keys:
            keys, values = keys[:, :, : group.num_keys], values[:, :, : group.num_keys]
        # The query heads that share a key head stand in as query positions: one kernel row per key head.
        queries = heads[group.start : group.start + group.count, : self.num_heads].reshape(
            group.count, self.num_kv_heads, self.group, self.head_dim
        )
        mask = group.masks[window]
        if mask is not None:
            mask = mask.expand(-1, -1, self.group, -1)
        out = functional.scaled_dot_product_attention(queries, keys, values, attn_mask=mask, scale=self.scale)
        return out.reshape(group.count, -1)

    def _prefill(self, layer: int, heads: Tensor, group: PrefillGroup, window: int | None) -> Tensor:
        tokens = group.count * group.length
        own = heads[group.start : group.start + tokens].view(group.count, group.length, -1, self.head_dim)
        own = own.transpose(1, 2)
        queries = own[:, : self.num_heads]
        if group.gather is None:
            keys = own[:, self.num_heads : self.num_heads + self.num_kv_heads]
            values = own[:, self.num_heads + self.num_kv_heads :]
        else:
            keys, values = self._cached(layer, group.gather, group.count)
            total = group.context + group.length
            keys, values = keys[:, :, :total], values[:, :, :total]
        mask = group.masks[window]
        if self.group > 1:
            # Cheaper than the kernel's own handling of shared key heads, measured on the CPU.
            keys = keys.repeat_interleave(self.group, 1)
            values = values.repeat_interleave(self.group, 1)
        out = functional.scaled_dot_product_attention(
            queries, keys, values, attn_mask=mask, is_causal=mask is None, scale=self.scale
        )
        return out.transpose(1, 2).reshape(tokens, -1)
