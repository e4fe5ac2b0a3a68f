"""What the engine tells a caller about a step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

FinishReason = Literal["stop", "length", "abort", "error", "repetition"]


@dataclass(frozen=True, slots=True)
class RankedLogprob:
    """A token, its log probability under the raw logits, and its rank (1 is the most likely)."""

    token_id: int
    logprob: float
    rank: int


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """Log probabilities at one position.

    ``top`` is in vLLM's order: the chosen token first, then the others by rank (with
    ``logprob_token_ids``: in the order asked), no token twice. It holds the chosen token even where that
    is not among the most likely ones, so it may be one longer than what was asked for.
    """

    token_id: int
    logprob: float
    rank: int
    top: tuple[RankedLogprob, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenOutput:
    """What one step added to one choice of a request.

    ``index`` is the choice (0 to n - 1). ``token_ids`` are the new ids only, a stop token included.
    ``logprobs`` runs along ``token_ids`` where the request asked for it. ``finish_reason`` is set on the last
    output of a choice; ``stop_reason`` is the id that stopped it. ``prompt_logprobs`` comes with the first
    output of choice 0, one entry per prompt token, ``None`` for the first; so do ``prompt_scores``, the rows
    that ``prompt_logprob_token_ids`` asks for. ``cached_tokens`` is how many prompt tokens the prefix cache
    held. ``error`` says what went wrong where ``finish_reason`` is "error", and ``unavailable`` whether that
    is the end of the engine itself. ``queue_seconds``, on a choice's first output, is how long it waited for
    its first step. ``finished`` is true on the last output of the whole request. ``weight_version`` labels
    the weights that made these tokens.
    """

    index: int
    token_ids: list[int]
    logprobs: list[TokenLogprob] | None = None
    finish_reason: FinishReason | None = None
    stop_reason: int | str | None = None
    prompt_logprobs: list[TokenLogprob | None] | None = None
    prompt_scores: list[list[float]] | None = None
    cached_tokens: int = 0
    error: str | None = None
    unavailable: bool = False
    finished: bool = False
    weight_version: str = "default"
    queue_seconds: float | None = None
