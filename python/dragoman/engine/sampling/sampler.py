"""One choice per sequence of a step, with log probabilities where they are asked for."""

from __future__ import annotations

from collections.abc import Sequence as AbstractSequence

import torch
from torch import Tensor

from dragoman.engine.output import TokenLogprob
from dragoman.engine.sampling.adjust import adjust, changes_logits
from dragoman.engine.sampling.draw import draw
from dragoman.engine.sampling.logprobs import ranked_logprobs
from dragoman.engine.sampling.masks import StepMasks
from dragoman.engine.sequence import Sequence


def sample(
    logits: Tensor, sequences: AbstractSequence[Sequence], masks: StepMasks | None = None
) -> tuple[list[int], list[TokenLogprob | None]]:
    """Choose a token for each row of ``logits`` (``[rows, vocabulary]``, any float type; left unchanged).

    ``masks`` are those of the same sequences.
    """
    working = logits
    adjusted = [row for row, sequence in enumerate(sequences) if changes_logits(sequence)]
    drawn = [row for row, sequence in enumerate(sequences) if not sequence.params.greedy]
    if adjusted or drawn:
        working = logits.float() if logits.dtype is not torch.float32 else logits.clone()
        adjust(working, sequences)
        if masks is not None:
            masks.apply(working, sequences)
    if len(drawn) == len(sequences):
        tokens = draw(working, sequences)
    else:
        # Not argmax, which is four times slower on CPUs.
        tokens = working.max(-1).indices.tolist()
        if drawn:
            chosen = draw(working[drawn], [sequences[row] for row in drawn])
            for row, token in zip(drawn, chosen, strict=True):
                tokens[row] = token
    return tokens, _logprobs(logits, sequences, tokens)


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
    selected = logits if len(rows) == len(tokens) else logits[rows]
    entries = ranked_logprobs(selected, [tokens[row] for row in rows], counts, named)
    for row, entry in zip(rows, entries, strict=True):
        result[row] = entry
    return result
