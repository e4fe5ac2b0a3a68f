"""Log probabilities of given ids at the prompt's positions, as a teacher scores a student's candidates."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from dragoman.engine.sequence import Sequence
from dragoman.engine.transfer import to_device

NONE = -1
"""Stands for no id in a row; it scores minus infinity."""

ROWS = 128
"""Positions whose logits are held at once; a vocabulary row in float32 can be a megabyte."""


def score_prompt(
    sequence: Sequence, start: int, hidden: Tensor, logits_of: Callable[[Tensor], Tensor]
) -> None:
    """Add the rows of the positions just read, ``start`` on: ``hidden`` is ``[positions, hidden]``."""
    done = sequence.prompt_scores
    asked = sequence.params.prompt_logprob_token_ids
    assert done is not None
    assert asked is not None
    offset = sequence.params.prompt_logprob_start
    # A preempted sequence reads its prompt again: go on where the list ends.
    first = max(start, offset + len(done))
    last = min(start + hidden.shape[0], offset + len(asked))
    for begin in range(first, last, ROWS):
        end = min(begin + ROWS, last)
        logprobs = torch.log_softmax(logits_of(hidden[begin - start : end - start]).float(), -1)
        for line, ids in zip(logprobs, asked[begin - offset : end - offset], strict=True):
            wanted = to_device(ids, line.device, torch.long)
            scores = line[wanted.clamp(min=0)].masked_fill(wanted == NONE, float("-inf"))
            done.append(scores.tolist())
