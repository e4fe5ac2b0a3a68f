"""Applies token masks to logits. They are computed on threads while the model runs."""

from __future__ import annotations

from collections.abc import Sequence as AbstractSequence
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dragoman.engine.sequence import Sequence
from dragoman.engine.token_mask import words_for

MASK_THREADS = 2
"""A mask takes tens of microseconds, rarely milliseconds; more threads would take cores from the model."""


class StepMasks:
    """The masks of one step: begun before the forward pass, applied to its logits."""

    def __init__(self, rows: list[int], bits: NDArray[np.int32], filling: list[Future[None]]) -> None:
        self._rows = rows
        self._bits = bits
        self._filling = filling

    def apply(self, logits: Tensor, sequences: AbstractSequence[Sequence]) -> None:
        """Set what may not come next to ``-inf`` in ``logits`` (float32, ``[sequences, vocabulary]``), in place.

        A sequence whose mask failed, or to which nothing is left beside its other parameters, gets its
        ``error`` set; its row then stays as it is.
        """
        if not self._rows:
            return
        for row, future in zip(self._rows, self._filling, strict=True):
            failure = future.exception()
            if failure is not None:
                sequences[row].error = f"the grammar could not go on: {failure}"
        allowed = _unpack(self._bits, logits.shape[1], logits.device)
        chosen = logits[self._rows].masked_fill(~allowed, float("-inf"))
        lost = torch.isneginf(chosen.amax(-1)).tolist()
        for row, line, is_lost in zip(self._rows, chosen, lost, strict=True):
            sequence = sequences[row]
            if is_lost and sequence.error is None:
                sequence.error = "no token is left that both the grammar and the sampling parameters allow"
            if sequence.error is None:
                logits[row] = line


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
    words = torch.from_numpy(bits).to(device)
    return ((words.unsqueeze(-1) >> places) & 1).flatten(1)[:, :vocab_size].bool()
