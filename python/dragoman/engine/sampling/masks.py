"""Applies token masks to logits. They are computed on threads while the model runs."""

from __future__ import annotations

from collections.abc import Sequence as AbstractSequence
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dragoman.engine.sampling.adjust import NEVER
from dragoman.engine.sequence import Sequence
from dragoman.engine.token_mask import words_for
from dragoman.engine.transfer import queue_copy, to_device

MASK_THREADS = 2
"""A mask takes tens of microseconds, rarely milliseconds; more threads would take cores from the model."""


class StepMasks:
    """The masks of one step: begun before the forward pass, applied to its logits, then asked who is lost."""

    def __init__(self, rows: list[int], bits: NDArray[np.int32], filling: list[Future[None]]) -> None:
        self._rows = rows
        self._bits = bits
        self._filling = filling
        self._lost: Tensor | None = None

    def apply(self, logits: Tensor) -> None:
        """Set what may not come next to ``-inf`` in ``logits`` (float32, ``[sequences, vocabulary]``), in place.

        A row of which nothing would be left stays as it is.
        """
        if not self._rows:
            return
        for future in self._filling:
            future.exception()
        rows = to_device(self._rows, logits.device, torch.long)
        before = logits.index_select(0, rows)
        allowed = _unpack(self._bits, logits.shape[1], logits.device)
        after = before.masked_fill(~allowed, NEVER)
        self._lost = torch.isneginf(after.amax(-1))
        logits.index_copy_(0, rows, torch.where(self._lost.unsqueeze(1), before, after))

    def report(self, sequences: AbstractSequence[Sequence]) -> None:
        """Set the ``error`` of a sequence whose mask failed, or to which nothing was left.

        Apart from :meth:`apply`, because it waits for the device.
        """
        if self._lost is None:
            return
        for row, future, is_lost in zip(self._rows, self._filling, self._lost.tolist(), strict=True):
            failure = future.exception()
            sequence = sequences[row]
            if failure is not None:
                sequence.error = f"the grammar could not go on: {failure}"
            elif is_lost:
                sequence.error = "no token is left that both the grammar and the sampling parameters allow"


class MaskWorkers:
    """The threads; made with the first mask, since most engines never see one."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None

    def begin(self, sequences: AbstractSequence[Sequence], vocab_size: int) -> StepMasks:
        """Start on the masks of those of ``sequences`` that have one."""
        rows = [row for row, sequence in enumerate(sequences) if sequence.mask is not None]
        bits = np.zeros((len(rows), words_for(vocab_size)), dtype=np.int32)
        if rows and self._pool is None:
            self._pool = ThreadPoolExecutor(MASK_THREADS, thread_name_prefix="dragoman-mask")
        filling = []
        for row, line in zip(rows, bits, strict=True):
            mask = sequences[row].mask
            assert mask is not None
            assert self._pool is not None
            filling.append(self._pool.submit(mask.fill, line))
        return StepMasks(rows, bits, filling)


def _unpack(bits: NDArray[np.int32], vocab_size: int, device: torch.device) -> Tensor:
    """``[rows, words]`` to booleans ``[rows, vocabulary]``; the lowest bit of a word is its first id."""
    if device.type == "cpu":
        # One thread of numpy's; torch's would wait for each other longer than this takes.
        spread = np.unpackbits(bits.view(np.uint8), axis=1, bitorder="little")
        return torch.from_numpy(spread).view(torch.bool)[:, :vocab_size]
    # Unpacked on the device: an eighth of the bytes to move.
    places = torch.arange(32, dtype=torch.int32, device=device)
    words = queue_copy(torch.from_numpy(bits), device)
    return ((words.unsqueeze(-1) >> places) & 1).flatten(1)[:, :vocab_size].bool()
