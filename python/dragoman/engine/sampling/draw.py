"""Chooses a token per row: the most likely one, or one drawn from what the filters leave."""

from __future__ import annotations

from collections.abc import Sequence as AbstractSequence

import torch
from torch import Tensor

from dragoman.engine.sampling.uniform import uniform
from dragoman.engine.sequence import Sequence
from dragoman.engine.transfer import to_device

FIRST_CANDIDATES = 1024
"""How many of the most likely tokens top-p looks at before it sorts the whole vocabulary."""


def draw(logits: Tensor, sequences: AbstractSequence[Sequence]) -> Tensor:
    """Token ids ``[rows]`` for ``logits`` (float32, ``[rows, vocabulary]``), which is overwritten.

    Filters in vLLM's order: temperature, min-p, top-k, top-p. The draw inverts the cumulative distribution
    at one uniform number per token, so it costs one pass and needs no random number per vocabulary entry.
    """
    params = [sequence.params for sequence in sequences]
    device = logits.device
    temperatures = to_device([row.temperature for row in params], device).unsqueeze(1)
    logits.div_(temperatures)
    if any(row.min_p > 0 for row in params):
        _min_p(logits, to_device([row.min_p for row in params], device).unsqueeze(1))
    if any(row.top_k > 0 for row in params):
        _top_k(logits, [row.top_k for row in params])
    probabilities = torch.softmax(logits, -1)
    top_p = [row.top_p for row in params]
    if device.type == "cpu":
        for row, share in enumerate(top_p):
            if share < 1.0:
                _top_p(probabilities[row], share)
    elif min(top_p) < 1.0:
        _top_p_of_all(probabilities, to_device(top_p, device).unsqueeze(1))
    cumulative = probabilities.cumsum(-1, dtype=torch.float64)
    points = to_device(
        [uniform(sequence.request.seed + sequence.index, len(sequence)) for sequence in sequences],
        device,
        torch.float64,
    ).unsqueeze(1)
    # The first entry above the point: an entry of probability 0 is never first above anything.
    chosen = torch.searchsorted(cumulative, points * cumulative[:, -1:], right=True)
    chosen.clamp_(max=logits.shape[1] - 1)
    return chosen.squeeze(1)


def _min_p(logits: Tensor, shares: Tensor) -> None:
    """Drop what is less likely than a share of the most likely token's probability."""
    floor = logits.amax(-1, keepdim=True) + shares.log()
    logits.masked_fill_(logits < floor, float("-inf"))


def _top_k(logits: Tensor, counts: list[int]) -> None:
    """Drop what is below the k-th largest logit; ties with it stay."""
    vocabulary = logits.shape[1]
    wanted = [min(count, vocabulary) for count in counts]
    largest = logits.topk(max(wanted), dim=-1).values
    places = to_device([max(count - 1, 0) for count in wanted], logits.device).unsqueeze(1)
    unlimited = to_device([count <= 0 for count in wanted], logits.device).unsqueeze(1)
    floor = largest.gather(1, places).masked_fill_(unlimited, float("-inf"))
    logits.masked_fill_(logits < floor, float("-inf"))


def _top_p(probabilities: Tensor, share: float) -> None:
    """Keep the most likely tokens of one row that together just reach ``share``; zero the others."""
    size = min(FIRST_CANDIDATES, probabilities.shape[0])
    values, ids = probabilities.topk(size)
    before = values.cumsum(0, dtype=torch.float64) - values
    if float(before[-1]) < share and size < probabilities.shape[0]:
        values, ids = probabilities.sort(descending=True)
        before = values.cumsum(0, dtype=torch.float64) - values
    keep = before < share
    keep[0] = True
    kept_ids, kept_values = ids[keep], values[keep]
    probabilities.zero_()
    probabilities[kept_ids] = kept_values


def _top_p_of_all(probabilities: Tensor, shares: Tensor) -> None:
    """The same for all rows; sorts everything, since asking whether less would do makes the host wait."""
    values, ids = probabilities.sort(dim=-1, descending=True)
    before = values.cumsum(-1, dtype=torch.float64) - values
    # A share of 1 keeps all, though the sum may round to more.
    values.masked_fill_((before >= shares) & (shares < 1.0), 0.0)
    probabilities.scatter_(1, ids, values)
