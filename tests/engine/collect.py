"""Runs requests on an engine and gathers what comes back."""

from __future__ import annotations

import queue
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dragoman.engine import Engine, SamplingParams, TokenLogprob, TokenOutput


@dataclass
class Choice:
    """One choice, whole."""

    token_ids: list[int] = field(default_factory=list)
    logprobs: list[TokenLogprob] = field(default_factory=list)
    finish_reason: str | None = None
    stop_reason: int | str | None = None
    error: str | None = None


@dataclass
class Answer:
    """A whole request."""

    choices: dict[int, Choice]
    outputs: list[TokenOutput]

    @property
    def token_ids(self) -> list[int]:
        return self.choices[0].token_ids

    @property
    def prompt_logprobs(self) -> list[TokenLogprob | None] | None:
        return self.outputs[0].prompt_logprobs


class Pending:
    """A submitted request."""

    def __init__(self, engine: Engine, prompt: Sequence[int], params: SamplingParams, **options: Any) -> None:
        self._queue: queue.Queue[TokenOutput] = queue.Queue()
        self.request_id = options.pop("request_id", f"test-{id(self)}")
        engine.submit(self.request_id, prompt, params, on_output=self._queue.put, **options)

    def first(self) -> TokenOutput:
        """Wait for the next output."""
        return self._queue.get(timeout=60)

    def result(self) -> Answer:
        """Wait for the end."""
        choices: dict[int, Choice] = {}
        outputs = []
        while True:
            output = self._queue.get(timeout=100)
            outputs.append(output)
            choice = choices.setdefault(output.index, Choice())
            assert choice.finish_reason is None, "output after the last one of a choice"
            choice.token_ids += output.token_ids
            choice.logprobs += output.logprobs or []
            choice.finish_reason = output.finish_reason
            choice.stop_reason = output.stop_reason
            choice.error = output.error
            if output.finished:
                assert self._queue.empty(), "output after the request was finished"
                return Answer(choices, outputs)


def run(
    engine: Engine, prompt: Sequence[int], *, options: dict[str, Any] | None = None, **params: Any
) -> Answer:
    """Submit a request and wait for its end."""
    return Pending(engine, prompt, SamplingParams(**params), **(options or {})).result()
