"""What a request must satisfy before it may reach the loop."""

from __future__ import annotations

import itertools
import secrets
import time
from collections.abc import Callable, Sequence

from dragoman.engine.errors import InvalidRequestError
from dragoman.engine.models.architecture import ModelConfig
from dragoman.engine.output import TokenOutput
from dragoman.engine.params import SamplingParams
from dragoman.engine.sequence import Request
from dragoman.engine.token_mask import MakeMask

MAX_CHOICE_TOKENS = 1 << 24
"""Most prompt ids of all choices of a request together: each choice keeps its own list."""


class Admission:
    """Checks requests and fills in what they leave open: their length and their seed."""

    def __init__(self, model: ModelConfig, seed: int | None, max_logprobs: int) -> None:
        self._vocab_size = model.vocab_size
        self._limit = model.max_positions
        self._seed = seed
        self._max_logprobs = max_logprobs
        self._arrivals = itertools.count()

    def check(self, prompt_token_ids: Sequence[int], params: SamplingParams) -> list[int]:
        """The prompt as a list; raises :class:`InvalidRequestError` for what cannot run."""
        params.validate(self._vocab_size, self._max_logprobs)
        prompt = [int(token) for token in prompt_token_ids]
        if not prompt:
            raise InvalidRequestError("the prompt has no token ids", "token_ids")
        if len(prompt) >= self._limit:
            raise InvalidRequestError(
                f"The prompt has {len(prompt)} token ids, which leaves no room for output: "
                f"the context length is {self._limit}.",
                "token_ids",
            )
        if params.n * len(prompt) > MAX_CHOICE_TOKENS:
            raise InvalidRequestError(
                f"n={params.n} choices of a prompt of {len(prompt)} token ids are {params.n * len(prompt)} "
                f"ids, more than {MAX_CHOICE_TOKENS}",
                "n",
            )
        if min(prompt) < 0 or max(prompt) >= self._vocab_size:
            outside = next(token for token in prompt if not 0 <= token < self._vocab_size)
            raise InvalidRequestError(
                f"token id {outside} in token_ids is out of vocabulary (0 to {self._vocab_size - 1})",
                "token_ids",
            )
        rows = params.prompt_logprob_token_ids
        expected = len(prompt) - 1 - params.prompt_logprob_start
        if rows is not None and (params.prompt_logprob_start < 0 or len(rows) != expected or not rows):
            raise InvalidRequestError(
                f"prompt_logprob_token_ids has {len(rows)} rows; from prompt_logprob_start="
                f"{params.prompt_logprob_start} on the prompt has {expected} tokens to score",
                "prompt_logprob_token_ids",
            )
        return prompt

    def request(
        self,
        request_id: str,
        prompt_token_ids: Sequence[int],
        params: SamplingParams,
        *,
        priority: int,
        cache_salt: str | None,
        make_mask: MakeMask | None,
        on_output: Callable[[TokenOutput], None],
    ) -> Request:
        """A request that can run; raises :class:`InvalidRequestError` as :meth:`check` does."""
        prompt = self.check(prompt_token_ids, params)
        room = self._limit - len(prompt)
        arrival = next(self._arrivals)
        seed = params.seed
        if seed is None:
            seed = secrets.randbits(63) if self._seed is None else hash((self._seed, arrival))
        return Request(
            request_id=request_id,
            prompt_token_ids=prompt,
            params=params,
            on_output=on_output,
            max_tokens=room if params.max_tokens is None else min(params.max_tokens, room),
            seed=seed,
            arrival=arrival,
            priority=priority,
            cache_salt=cache_salt,
            submitted_at=time.monotonic(),
            make_mask=make_mask,
        )
