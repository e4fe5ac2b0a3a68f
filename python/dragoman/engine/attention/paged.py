"""Attention over paged keys and values with torch's own kernels; the same code on a CPU and on a GPU."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from dragoman.engine.attention.batch import DecodeGroup, ForwardBatch, PrefillGroup
from dragoman.engine.models.architecture import ModelConfig


class Workspace:
    """Memory that is kept between layers and steps: on a CPU fresh pages cost more than what is put there.

    On a GPU captured graphs keep its address, so there it never grows: what does not fit gets fresh memory.
    """

    __slots__ = ("_memory",)

    def __init__(self, memory: Tensor) -> None:
        self._memory = memory

    def rows(self, count: int) -> Tensor:
        """``count`` rows, whatever they hold."""
        if self._memory.shape[0] < count:
            fresh = self._memory.new_empty((count, *self._memory.shape[1:]))
            if fresh.device.type != "cpu":
                return fresh
            self._memory = fresh
        return self._memory[:count]


class PagedAttention:
    """Holds the cache tensors and attends.

    A layer's cache is ``[blocks, 2 * kv_heads * block_size * head_dim]``: everything of a block side by
    side, keys first, head by head. Gathering a step's blocks is then one copy of few long rows, and the
    copy that puts each head's keys together converts them on the way.
    """

    def __init__(
        self, config: ModelConfig, num_blocks: int, block_size: int, device: torch.device, dtype: torch.dtype
    ) -> None:
        self.scratch_block = num_blocks
        """A block of nobody's, which padding is written to and read from."""
        self.block_size = block_size
        self.num_heads = config.num_heads
        self.num_kv_heads = config.num_kv_heads
        self.group = config.num_heads // config.num_kv_heads
        self.head_dim = config.head_dim
        self.scale = config.attention_scale or config.head_dim**-0.5
        self.windows = config.windows
        self.layers = [
            torch.zeros(
                num_blocks + 1,
                2 * config.num_kv_heads * block_size * config.head_dim,
                device=device,
                dtype=dtype,
            )
            for _ in range(config.num_layers)
        ]
        self._token_rows = [layer.view(-1, config.head_dim) for layer in self.layers]
        self._head_rows = torch.arange(2 * config.num_kv_heads, device=device) * block_size
        # A CPU attends in float32 over a bf16 cache, as vLLM's CPU kernel does: with products in bf16 the
        # answers drift from the reference, and for short contexts the time is the same.
        self.dtype = torch.float32 if device.type == "cpu" else dtype
        """Type that attention is computed in, and that masks must have."""
        self.most_gathered = 2 * num_blocks
        """Blocks that one call may gather, padding included, without memory beyond what is set aside for it."""
        reserved = 0 if device.type == "cpu" else self.most_gathered
        self._gathered = Workspace(self.layers[0].new_empty((reserved, self.layers[0].shape[1])))
        self._arranged = Workspace(torch.empty_like(self._gathered.rows(reserved), dtype=self.dtype))
        if device.type == "cuda":
            # cuDNN's attention builds a plan for every new length, which no prompt can wait for.
            torch.backends.cuda.enable_cudnn_sdp(False)

    def write_index(self, slots: Tensor) -> Tensor:
        """Cache rows of keys and values, ``[tokens * 2 * kv_heads]``, for tokens at these cache slots."""
        blocks, offsets = slots // self.block_size, slots % self.block_size
        rows = blocks * (2 * self.num_kv_heads * self.block_size) + offsets
        return (rows.unsqueeze(1) + self._head_rows).view(-1)

    def __call__(self, layer: int, heads: Tensor, batch: ForwardBatch) -> Tensor:
        """Write a step's keys and values, then attend.

        ``heads`` is ``[tokens, heads + 2 * kv_heads, head_dim]``; gives ``[tokens, heads * head_dim]``.
        """
        written = heads[:, self.num_heads :].reshape(-1, self.head_dim)
        self._token_rows[layer].index_copy_(0, batch.writes, written)
        window = self.windows[layer]
        parts = [self._decode(layer, heads, group, window) for group in batch.decodes]
        parts += [self._prefill(layer, heads, group, window) for group in batch.prefills]
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def _cached(self, layer: int, gather: Tensor, count: int) -> tuple[Tensor, Tensor]:
        """Gathered keys and values, each ``[sequences, kv_heads, keys, head_dim]``."""
        blocks = self._gathered.rows(gather.shape[0])
        torch.index_select(self.layers[layer], 0, gather, out=blocks)
        shape = (count, -1, 2, self.num_kv_heads, self.block_size * self.head_dim)
        by_head = blocks.view(shape).permute(2, 0, 3, 1, 4)
        both = self._arranged.rows(gather.shape[0]).view(by_head.shape).copy_(by_head)
        both = both.view(2, count, self.num_kv_heads, -1, self.head_dim)
        return both[0], both[1]

    def _decode(self, layer: int, heads: Tensor, group: DecodeGroup, window: int | None) -> Tensor:
        keys, values = self._cached(layer, group.gather, group.count)
        # The query heads that share a key head stand in as query positions: one product per key head.
        queries = heads[group.start : group.start + group.count, : self.num_heads].reshape(
            group.count, self.num_kv_heads, self.group, self.head_dim
        )
        keys, values = keys[:, :, : group.num_keys], values[:, :, : group.num_keys]
        mask = group.masks[window]
        if queries.device.type == "cpu":
            scores = torch.bmm(queries.to(self.dtype).flatten(0, 1), keys.flatten(0, 1).transpose(1, 2)).mul_(
                self.scale
            )
            if mask is not None:
                scores.view(group.count, -1, group.num_keys).add_(mask)
            out = torch.bmm(torch.softmax(scores, -1), values.flatten(0, 1)).to(heads.dtype)
        else:
            out = functional.scaled_dot_product_attention(
                queries,
                keys,
                values,
                attn_mask=None if mask is None else mask.unsqueeze(1),
                scale=self.scale,
            )
        return out.reshape(group.count, -1)

    def _prefill(self, layer: int, heads: Tensor, group: PrefillGroup, window: int | None) -> Tensor:
        tokens = group.count * group.length
        own = heads[group.start : group.start + tokens].view(group.count, group.length, -1, self.head_dim)
        own = own.to(self.dtype).transpose(1, 2)
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
        return out.transpose(1, 2).to(heads.dtype).reshape(tokens, -1)
