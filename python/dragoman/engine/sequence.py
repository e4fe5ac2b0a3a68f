"""One request and its choices, as the scheduler sees them."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field

from dragoman.engine.bad_words import BadWords
from dragoman.engine.kv_cache import ROOT_HASH, BlockHash, hash_block
from dragoman.engine.output import FinishReason, TokenLogprob, TokenOutput
from dragoman.engine.params import SamplingParams
from dragoman.engine.repetition import STOP_REASON
from dragoman.engine.token_mask import MakeMask, TokenMask


class Status(enum.Enum):
    """Where a sequence stands."""

    WAITING = enum.auto()
    RUNNING = enum.auto()
    FINISHED = enum.auto()


@dataclass(slots=True, eq=False, weakref_slot=True)
class Request:
    """What a caller submitted. ``arrival`` counts submissions; ``seed`` is set for every request.

    ``open_choices`` counts the choices whose last output is still to be sent.
    """

    request_id: str
    prompt_token_ids: list[int]
    params: SamplingParams
    on_output: Callable[[TokenOutput], None]
    max_tokens: int
    seed: int
    arrival: int
    priority: int = 0
    cache_salt: str | None = None
    submitted_at: float = 0.0
    make_mask: MakeMask | None = None
    sequences: list[Sequence] = field(default_factory=list)
    prompt_tokens: frozenset[int] = frozenset()
    bad_words: BadWords | None = None
    open_choices: int = 0

    def make_sequences(self) -> list[Sequence]:
        """One sequence per choice."""
        if self.params.repetition_penalty != 1.0:
            self.prompt_tokens = frozenset(self.prompt_token_ids)
        if self.params.bad_words_token_ids:
            self.bad_words = BadWords(self.params.bad_words_token_ids)
        self.open_choices = self.params.n
        self.sequences = [Sequence(self, index) for index in range(self.params.n)]
        return self.sequences


class Sequence:
    """One choice of a request: its tokens, its blocks, and how far the model has read it."""

    __slots__ = (
        "_mask",
        "block_hashes",
        "block_ids",
        "cached_tokens",
        "error",
        "finish_reason",
        "index",
        "num_computed",
        "output_counts",
        "prompt_length",
        "prompt_logprobs",
        "prompt_scores",
        "queue_seconds",
        "request",
        "shares_blocks",
        "status",
        "stop_ids",
        "stop_reason",
        "token_ids",
    )

    def __init__(self, request: Request, index: int) -> None:
        self.request = request
        self.index = index
        self.token_ids = list(request.prompt_token_ids)
        self.prompt_length = len(self.token_ids)
        self.status = Status.WAITING
        self.num_computed = 0
        self.block_ids: list[int] = []
        self.block_hashes: list[BlockHash] = []
        self.cached_tokens: int | None = None
        self.finish_reason: FinishReason | None = None
        self.stop_reason: int | str | None = None
        self.stop_ids: frozenset[int] = frozenset()
        self.output_counts: dict[int, int] = {}
        self.prompt_logprobs: list[TokenLogprob | None] | None = (
            [None] if request.params.prompt_logprobs is not None and index == 0 else None
        )
        self.prompt_scores: list[list[float]] | None = (
            [] if request.params.prompt_logprob_token_ids is not None and index == 0 else None
        )
        self.shares_blocks = True
        self._mask: TokenMask | None = None
        self.error: str | None = None
        self.queue_seconds: float | None = None

    def __len__(self) -> int:
        return len(self.token_ids)

    @property
    def params(self) -> SamplingParams:
        return self.request.params

    @property
    def mask(self) -> TokenMask | None:
        """What constrains this choice. Made when it first runs, since many choices may wait."""
        if self._mask is None and self.request.make_mask is not None:
            self._mask = self.request.make_mask()
        return self._mask

    def finish(self) -> None:
        """Its status becomes FINISHED, and what only a running choice needs goes."""
        self.status = Status.FINISHED
        self._mask = None

    @property
    def num_output(self) -> int:
        return len(self.token_ids) - self.prompt_length

    @property
    def order(self) -> tuple[int, int, int]:
        """Who goes first: lower priority value, then earlier arrival, then lower choice index."""
        return (self.request.priority, self.request.arrival, self.index)

    @property
    def wants_prompt_logprobs(self) -> bool:
        """True while some prompt position still lacks its log probabilities."""
        return self.prompt_logprobs is not None and len(self.prompt_logprobs) < self.prompt_length

    @property
    def wants_prompt_scores(self) -> bool:
        """True while some row of ``prompt_logprob_token_ids`` is not scored yet."""
        asked = self.params.prompt_logprob_token_ids
        return self.prompt_scores is not None and asked is not None and len(self.prompt_scores) < len(asked)

    def hashes_up_to(self, num_tokens: int, block_size: int) -> list[BlockHash]:
        """Hashes of the full blocks among the first ``num_tokens`` tokens; computed once and kept."""
        count = num_tokens // block_size
        while len(self.block_hashes) < count:
            done = len(self.block_hashes)
            parent = self.block_hashes[-1] if done else ROOT_HASH
            tokens = self.token_ids[done * block_size : (done + 1) * block_size]
            self.block_hashes.append(hash_block(parent, tokens, self.request.cache_salt))
        return self.block_hashes[:count]

    def append(self, token: int) -> None:
        """Add a generated token and decide whether it ends the sequence."""
        self.token_ids.append(token)
        self.output_counts[token] = self.output_counts.get(token, 0) + 1
        if self.error is None and self.mask is not None and not self.mask.accept(token):
            self.error = f"token id {token} was chosen, which the grammar does not allow"
        if self.error is not None:
            self.finish_reason = "error"
            return
        params = self.params
        is_long_enough = self.num_output >= params.min_tokens
        if is_long_enough and token in self.stop_ids:
            self.finish_reason = "stop"
            self.stop_reason = token
        elif self.mask is not None and self.mask.is_terminated:
            self.finish_reason = "stop"
        elif self.num_output >= self.request.max_tokens:
            self.finish_reason = "length"
        elif (
            is_long_enough
            and params.repetition_detection is not None
            and params.repetition_detection.is_met(self.token_ids, self.prompt_length)
        ):
            self.finish_reason = "repetition"
            self.stop_reason = STOP_REASON
