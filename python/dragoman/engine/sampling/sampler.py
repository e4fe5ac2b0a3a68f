"""One choice per sequence of a step, with log probabilities where they are asked for."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as AbstractSequence

import torch
from torch import Tensor

from dragoman.engine.output import TokenLogprob
from dragoman.engine.sampling.adjust import adjust, changes_logits
from dragoman.engine.sampling.draw import draw
from dragoman.engine.sampling.logprobs import ranked_logprobs
from dragoman.engine.sampling.masks import StepMasks
from dragoman.engine.sequence import Sequence
from dragoman.engine.transfer import to_device


def sample(
    logits: Tensor,
    sequences: AbstractSequence[Sequence],
    masks: StepMasks | None = None,
    before_reading: Callable[[Tensor], None] | None = None,
) -> tuple[list[int], list[TokenLogprob | None]]:
    """Choose a token for each row of ``logits`` (``[rows, vocabulary]``, any float type; left unchanged).

    ``masks`` are those of the same sequences. ``before_reading`` is given the ids ``[rows]`` on the device,
    before the host waits for them.
    """
    chosen = _choose(logits, sequences, masks)
    if before_reading is not None:
        before_reading(chosen)
    tokens: list[int] = chosen.tolist()
    if masks is not None:
        masks.report(sequences)
    return tokens, _logprobs(logits, sequences, tokens)


def _choose(logits: Tensor, sequences: AbstractSequence[Sequence], masks: StepMasks | None) -> Tensor:
    working = logits
    adjusted = [row for row, sequence in enumerate(sequences) if changes_logits(sequence)]
    drawn = [row for row, sequence in enumerate(sequences) if not sequence.params.greedy]
    if adjusted or drawn:
        working = logits.float() if logits.dtype is not torch.float32 else logits.clone()
        adjust(working, sequences)
        if masks is not None:
            masks.apply(working)
    if len(drawn) == len(sequences):
        return draw(working, sequences)
    # Not argmax, which is four times slower on CPUs.
    chosen = working.max(-1).indices
    if drawn:
        rows = to_device(drawn, logits.device, torch.long)
        chosen.index_copy_(0, rows, draw(working.index_select(0, rows), [sequences[row] for row in drawn]))
    return chosen


def _logprobs(
    logits: Tensor, sequences: AbstractSequence[Sequence], tokens: list[int]
) -> list[TokenLogprob | None]:
    result: list[TokenLogprob | None] = [None] * len(tokens)
    rows = [
        row
        for row, sequence in enumerate(sequences)
        if sequence.params.logprobs is not None or sequence.params.logprob_token_ids is not None
    ]
    if not rows:
        return result
    vocabulary = logits.shape[1]
    counts = []
    named = []
    for row in rows:
        params = sequences[row].params
        count = params.logprobs or 0
        counts.append(vocabulary if count == -1 else count)
        named.append(params.logprob_token_ids)
    selected = logits if len(rows) == len(tokens) else logits[to_device(rows, logits.device, torch.long)]
    entries = ranked_logprobs(selected, [tokens[row] for row in rows], counts, named)
    for row, entry in zip(rows, entries, strict=True):
        result[row] = entry
    return result
