"""Log probabilities and ranks of tokens under the raw logits."""

from __future__ import annotations

from collections.abc import Sequence as AbstractSequence

import torch
from torch import Tensor

from dragoman.engine.output import RankedLogprob, TokenLogprob
from dragoman.engine.transfer import to_device


def ranked_logprobs(
    logits: Tensor,
    tokens: AbstractSequence[int],
    counts: AbstractSequence[int],
    named: AbstractSequence[AbstractSequence[int] | None] | None = None,
) -> list[TokenLogprob]:
    """One :class:`TokenLogprob` per row of ``logits`` (``[rows, vocabulary]``).

    ``tokens`` are the chosen ids and ``counts`` how many of the most likely ones to add per row; ``named``
    rows list given ids in place of the most likely. A rank counts the tokens that are at least as likely,
    except that the most likely ones are simply numbered, as vLLM does.
    """
    logprobs = torch.log_softmax(logits.float(), -1)
    chosen = to_device(tokens, logits.device).unsqueeze(1)
    values = logprobs.gather(1, chosen)
    ranks = (logprobs >= values).sum(-1).tolist()
    chosen_values = values.squeeze(1).tolist()
    most = min(max(counts, default=0), logits.shape[1])
    top_values: list[list[float]] = []
    top_ids: list[list[int]] = []
    if most > 0:
        top = logprobs.topk(most, dim=-1)
        top_values, top_ids = top.values.tolist(), top.indices.tolist()
    result = []
    for row, token in enumerate(tokens):
        entries = {token: RankedLogprob(token, chosen_values[row], ranks[row])}
        ids = named[row] if named is not None else None
        if ids is not None:
            entries.update(_named(logprobs[row], [other for other in ids if other != token]))
        else:
            for place in range(min(counts[row], most)):
                other = top_ids[row][place]
                entries[other] = RankedLogprob(other, top_values[row][place], place + 1)
        first = entries[token]
        result.append(TokenLogprob(token, first.logprob, first.rank, tuple(entries.values())))
    return result


def _named(line: Tensor, ids: list[int]) -> dict[int, RankedLogprob]:
    if not ids:
        return {}
    values = line[to_device(ids, line.device)]
    ranks = (line.unsqueeze(0) >= values.unsqueeze(1)).sum(-1).tolist()
    return {
        token: RankedLogprob(token, value, rank)
        for token, value, rank in zip(ids, values.tolist(), ranks, strict=True)
    }
