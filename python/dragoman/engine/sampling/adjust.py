"""What a request's parameters do to its logits before a token is chosen.

The order is vLLM's: allowed ids, bad words, minimum length, bias, penalties.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence as AbstractSequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from dragoman.engine.sequence import Request, Sequence
from dragoman.engine.transfer import to_device

NEVER = float("-inf")


@dataclass(frozen=True, slots=True)
class _Fixed:
    """What a request changes alike in every step, ``[vocabulary]`` each."""

    denied: Tensor | None
    bias: Tensor | None


_FIXED: WeakKeyDictionary[Request, _Fixed] = WeakKeyDictionary()


def changes_logits(sequence: Sequence) -> bool:
    """True where :func:`adjust` or a mask would do something to this sequence's row now."""
    params = sequence.params
    return bool(
        sequence.mask is not None
        or params.logit_bias
        or params.allowed_token_ids is not None
        or params.bad_words_token_ids
        or params.repetition_penalty != 1.0
        or params.presence_penalty != 0.0
        or params.frequency_penalty != 0.0
        or (sequence.num_output < params.min_tokens and sequence.stop_ids)
    )


def adjust(logits: Tensor, sequences: AbstractSequence[Sequence]) -> None:
    """Change ``logits`` (float32, ``[rows, vocabulary]``) in place, a row per sequence."""
    for row, sequence in enumerate(sequences):
        if not changes_logits(sequence):
            continue
        params = sequence.params
        line = logits[row]
        fixed = _fixed_of(sequence.request, line)
        if fixed.denied is not None:
            line.masked_fill_(fixed.denied, NEVER)
        banned: list[int] = []
        if sequence.request.bad_words is not None:
            banned += sequence.request.bad_words.completing(sequence.token_ids, sequence.prompt_length)
        if sequence.num_output < params.min_tokens:
            banned.extend(sequence.stop_ids)
        if banned:
            line[_ids(banned, line)] = NEVER
        if fixed.bias is not None:
            line.add_(fixed.bias)
        _penalise(line, sequence)


def _fixed_of(request: Request, line: Tensor) -> _Fixed:
    found = _FIXED.get(request)
    if found is None:
        params = request.params
        denied = bias = None
        if params.allowed_token_ids is not None:
            denied = torch.ones_like(line, dtype=torch.bool)
            denied[_ids(params.allowed_token_ids, line)] = False
        if params.logit_bias:
            bias = torch.zeros_like(line)
            values = to_device(list(params.logit_bias.values()), line.device, line.dtype)
            bias[_ids(params.logit_bias.keys(), line)] = values
        found = _FIXED[request] = _Fixed(denied, bias)
    return found


def _penalise(line: Tensor, sequence: Sequence) -> None:
    """Presence and frequency count generated tokens only, repetition the prompt's too."""
    params = sequence.params
    counts = sequence.output_counts
    if params.repetition_penalty != 1.0:
        seen = _ids({*sequence.request.prompt_tokens, *counts}, line)
        values = line[seen]
        penalty = params.repetition_penalty
        line[seen] = torch.where(values > 0, values / penalty, values * penalty)
    if counts and (params.presence_penalty != 0.0 or params.frequency_penalty != 0.0):
        times = to_device(list(counts.values()), line.device, line.dtype)
        line.index_add_(
            0, _ids(counts.keys(), line), -(times * params.frequency_penalty + params.presence_penalty)
        )


def _ids(ids: Iterable[int], like: Tensor) -> Tensor:
    return to_device(list(ids), like.device, torch.long)
