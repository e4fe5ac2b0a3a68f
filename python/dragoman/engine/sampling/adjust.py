"""What a request's parameters do to its logits before a token is chosen.

The order is vLLM's: allowed ids, bad words, minimum length, bias, penalties.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence as AbstractSequence

import torch
from torch import Tensor

from dragoman.engine.params import SamplingParams
from dragoman.engine.sequence import Sequence
from dragoman.engine.transfer import to_device

NEVER = float("-inf")


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
        if params.allowed_token_ids is not None:
            allowed = _ids(params.allowed_token_ids, line)
            kept = line[allowed]
            line.fill_(NEVER)
            line[allowed] = kept
        banned = _completed_bad_words(params, sequence)
        if sequence.num_output < params.min_tokens:
            banned.extend(sequence.stop_ids)
        if banned:
            line[_ids(banned, line)] = NEVER
        if params.logit_bias:
            line.index_add_(
                0,
                _ids(params.logit_bias.keys(), line),
                to_device(list(params.logit_bias.values()), line.device, line.dtype),
            )
        _penalise(line, sequence)


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


def _completed_bad_words(params: SamplingParams, sequence: Sequence) -> list[int]:
    """Last tokens of the forbidden sequences whose beginning was just generated."""
    banned = []
    generated = sequence.token_ids[sequence.prompt_length :]
    for word in params.bad_words_token_ids:
        beginning = list(word[:-1])
        if not beginning or generated[-len(beginning) :] == beginning:
            banned.append(word[-1])
    return banned


def _ids(ids: Iterable[int], like: Tensor) -> Tensor:
    return to_device(list(ids), like.device, torch.long)
