"""One step's tokens as tensors, and the index work that all layers share."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from dragoman.engine.transfer import to_device


@dataclass(slots=True)
class DecodeGroup:
    """Consecutive batch rows that read one token each, of similar context lengths.

    ``rows`` is a slice of the batch's tokens. ``gather`` names the blocks of all rows,
    ``[rows * blocks]``. ``masks`` has one additive mask per window, ``[rows, 1, keys]``,
    or ``None`` where every key counts.
    """

    start: int
    count: int
    num_keys: int
    gather: Tensor
    masks: dict[int | None, Tensor | None]


@dataclass(slots=True)
class PrefillGroup:
    """``count`` prompts side by side, each ``length`` tokens from position ``context`` on.

    ``context`` 0 needs no ``gather``: all keys are in the batch. ``masks`` as in :class:`DecodeGroup`, shaped
    ``[length, context + length]``; ``None`` means plain causal.
    """

    start: int
    count: int
    length: int
    context: int
    gather: Tensor | None
    masks: dict[int | None, Tensor | None]


@dataclass(slots=True)
class ForwardBatch:
    """What a forward pass reads: ``token_ids`` and ``positions`` are ``[tokens]``.

    ``writes`` are the cache rows that their keys and values go to, ``[tokens * 2 * kv_heads]``. ``rotary``
    holds cosines and sines at the positions, a pair per rotary table of the model.
    """

    token_ids: Tensor
    positions: Tensor
    writes: Tensor
    decodes: list[DecodeGroup] = field(default_factory=list)
    prefills: list[PrefillGroup] = field(default_factory=list)
    rotary: list[tuple[Tensor, Tensor]] = field(default_factory=list)

    @property
    def num_tokens(self) -> int:
        return int(self.token_ids.shape[0])


def decode_mask(
    lengths: list[int], num_keys: int, window: int | None, device: torch.device, dtype: torch.dtype
) -> Tensor | None:
    """Additive mask ``[rows, 1, keys]`` that hides the keys past each length and before its window."""
    if all(length == num_keys for length in lengths) and (window is None or num_keys <= window):
        return None
    return length_mask(to_device(lengths, device), num_keys, window, dtype)


def length_mask(lengths: Tensor, num_keys: int, window: int | None, dtype: torch.dtype) -> Tensor:
    """The same from ``lengths`` on the device, without looking at them."""
    ends = lengths.view(-1, 1, 1)
    keys = torch.arange(num_keys, device=lengths.device)
    hidden = keys >= ends
    if window is not None:
        hidden = hidden | (keys < ends - window)
    return torch.zeros(hidden.shape, dtype=dtype, device=lengths.device).masked_fill_(hidden, float("-inf"))


def prefill_mask(
    length: int, context: int, window: int | None, device: torch.device, dtype: torch.dtype
) -> Tensor | None:
    """Additive mask ``[length, context + length]``; ``None`` where plain causal attention says the same."""
    total = context + length
    if context == 0 and (window is None or total <= window):
        return None
    queries = torch.arange(context, total, device=device).unsqueeze(1)
    keys = torch.arange(total, device=device)
    hidden = keys > queries
    if window is not None:
        hidden = hidden | (keys <= queries - window)
    return torch.zeros(hidden.shape, dtype=dtype, device=device).masked_fill_(hidden, float("-inf"))
