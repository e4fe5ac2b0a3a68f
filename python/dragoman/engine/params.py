"""What a request asks of the sampler."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dragoman.engine.errors import InvalidRequestError
from dragoman.engine.repetition import RepetitionDetection

MAX_CHOICES = 16384
"""Most choices of one request (vLLM's ``VLLM_MAX_N_SEQUENCES``)."""

MAX_LOGPROB_TOKEN_IDS = 128
"""Most ids in ``logprob_token_ids``, as in vLLM."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingParams:
    """Sampling settings of one request; names, meanings and defaults are vLLM's.

    ``max_tokens`` left at ``None`` means: up to the context length. ``top_k`` 0 or -1, ``top_p`` 1 and
    ``min_p`` 0 switch those filters off; ``temperature`` 0 is greedy. ``logprobs`` 0 returns the chosen
    token's log probability only, -1 those of all ids. ``bad_words_token_ids`` holds token sequences that may
    not be completed. ``prompt_logprob_token_ids`` holds a row of ids to score (-1: none) for each prompt
    token that follows position ``prompt_logprob_start``.
    """

    n: int = 1
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    repetition_penalty: float = 1.0
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    seed: int | None = None
    stop_token_ids: tuple[int, ...] = ()
    ignore_eos: bool = False
    max_tokens: int | None = None
    min_tokens: int = 0
    logprobs: int | None = None
    prompt_logprobs: int | None = None
    prompt_logprob_token_ids: tuple[tuple[int, ...], ...] | None = None
    prompt_logprob_start: int = 0
    logprob_token_ids: tuple[int, ...] | None = None
    logit_bias: Mapping[int, float] | None = None
    allowed_token_ids: tuple[int, ...] | None = None
    bad_words_token_ids: tuple[tuple[int, ...], ...] = ()
    repetition_detection: RepetitionDetection | None = None

    def validate(self, vocab_size: int, max_logprobs: int = -1) -> None:
        """Raise :class:`InvalidRequestError` for a value that the sampler cannot honour.

        ``max_logprobs`` is the most alternatives that may be asked for, -1 for all ids.
        """
        limit = vocab_size if max_logprobs == -1 else max_logprobs
        _between("presence_penalty", self.presence_penalty, -2.0, 2.0)
        _between("frequency_penalty", self.frequency_penalty, -2.0, 2.0)
        _between("min_p", self.min_p, 0.0, 1.0)
        _require(
            self.repetition_penalty > 0.0 and math.isfinite(self.repetition_penalty),
            f"repetition_penalty must be greater than zero, got {self.repetition_penalty}.",
            "repetition_penalty",
        )
        _require(
            self.temperature >= 0.0 and math.isfinite(self.temperature),
            f"temperature must be non-negative, got {self.temperature}.",
            "temperature",
        )
        _require(0.0 < self.top_p <= 1.0, f"top_p must be in (0, 1], got {self.top_p}.", "top_p")
        _require(self.top_k >= -1, f"top_k must be 0 (disable), or at least 1, got {self.top_k}.", "top_k")
        _require(self.n >= 1, f"n must be at least 1, got {self.n}.", "n")
        _require(self.n <= MAX_CHOICES, f"n must be at most {MAX_CHOICES}, got {self.n}.", "n")
        _require(
            self.n == 1 or not self.greedy, f"n must be 1 when using greedy sampling, got {self.n}.", "n"
        )
        if self.max_tokens is not None:
            _require(
                self.max_tokens >= 1, f"max_tokens must be at least 1, got {self.max_tokens}.", "max_tokens"
            )
            _require(
                self.min_tokens <= self.max_tokens,
                f"min_tokens must be less than or equal to max_tokens={self.max_tokens}, "
                f"got {self.min_tokens}.",
                "min_tokens",
            )
        _require(
            self.min_tokens >= 0,
            f"min_tokens must be greater than or equal to 0, got {self.min_tokens}.",
            "min_tokens",
        )
        for name, count in (("logprobs", self.logprobs), ("prompt_logprobs", self.prompt_logprobs)):
            if count is not None:
                asked = vocab_size if count == -1 else count
                _require(
                    0 <= asked <= limit,
                    f"Requested {name} of {asked}, which is outside 0 to {limit}.",
                    name,
                )
        if self.repetition_detection is not None:
            self.repetition_detection.validate()
        self._validate_ids(vocab_size)

    def _validate_ids(self, vocab_size: int) -> None:
        _ids_in_vocabulary("stop_token_ids", self.stop_token_ids, vocab_size)
        if self.logprob_token_ids is not None:
            _require(
                len(self.logprob_token_ids) <= MAX_LOGPROB_TOKEN_IDS,
                f"logprob_token_ids must have at most {MAX_LOGPROB_TOKEN_IDS} ids, "
                f"got {len(self.logprob_token_ids)}.",
                "logprob_token_ids",
            )
            _ids_in_vocabulary("logprob_token_ids", self.logprob_token_ids, vocab_size)
        for row in self.prompt_logprob_token_ids or ():
            _ids_in_vocabulary(
                "prompt_logprob_token_ids", (token for token in row if token != -1), vocab_size
            )
        if self.logit_bias is not None:
            _ids_in_vocabulary("logit_bias", self.logit_bias, vocab_size)
            _require(
                not any(math.isnan(bias) for bias in self.logit_bias.values()),
                "logit_bias must not hold NaN.",
                "logit_bias",
            )
        if self.allowed_token_ids is not None:
            _require(
                len(self.allowed_token_ids) > 0,
                "allowed_token_ids must not be empty where it is given.",
                "allowed_token_ids",
            )
            _ids_in_vocabulary("allowed_token_ids", self.allowed_token_ids, vocab_size)
        for word in self.bad_words_token_ids:
            _require(len(word) > 0, "bad_words_token_ids holds an empty sequence.", "bad_words_token_ids")
            _ids_in_vocabulary("bad_words_token_ids", word, vocab_size)

    @property
    def greedy(self) -> bool:
        """True where the most likely token is always taken (vLLM treats tiny temperatures as 0)."""
        return self.temperature < GREEDY_TEMPERATURE


GREEDY_TEMPERATURE = 1e-5
"""Temperatures below this are greedy: dividing by them would overflow."""


def _require(holds: bool, message: str, parameter: str) -> None:
    if not holds:
        raise InvalidRequestError(message, parameter)


def _between(name: str, value: float, low: float, high: float) -> None:
    _require(low <= value <= high, f"{name} must be in [{low:g}, {high:g}], got {value}.", name)


def _ids_in_vocabulary(name: str, ids: Iterable[int], vocab_size: int) -> None:
    outside = [token for token in ids if not 0 <= token < vocab_size]
    _require(
        not outside,
        f"token id(s) {outside[:8]} in {name} contain out-of-vocab token ids. Vocabulary size: {vocab_size}",
        name,
    )
