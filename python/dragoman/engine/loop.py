"""What the engine's thread does in a step: schedule, run, book, tell the callers."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

import torch

from dragoman.engine.models.blocks import Decoder
from dragoman.engine.output import FinishReason, TokenLogprob, TokenOutput
from dragoman.engine.runner import ModelRunner, StepResult
from dragoman.engine.scheduler import Scheduler, Step
from dragoman.engine.sequence import Request, Sequence, Status
from dragoman.engine.statistics import STEP_BOUNDS, EngineStats, Observations

log = logging.getLogger(__name__)


class EngineLoop:
    """All request state, touched by the engine's thread only (the read-only counters aside)."""

    def __init__(self, scheduler: Scheduler, runner: ModelRunner, eos_token_ids: tuple[int, ...]) -> None:
        self._scheduler = scheduler
        self._runner = runner
        self._eos = frozenset(eos_token_ids)
        self._requests: dict[str, list[Request]] = {}
        self.paused = False
        self._drained: list[Callable[[], None]] = []
        self.step_began: float | None = None
        self.weight_version = "default"
        self._prompt_tokens = 0
        self._generation_tokens = 0
        self._step_seconds = Observations(STEP_BOUNDS)
        self._failed_steps = 0

    @property
    def model(self) -> Decoder:
        """The model that runs."""
        return self._runner.model

    @property
    def num_queued(self) -> int:
        """Choices that run or wait."""
        return len(self._scheduler.running) + self._scheduler.num_waiting

    @property
    def has_work(self) -> bool:
        return self._scheduler.has_work

    @property
    def can_step(self) -> bool:
        return not self.paused and self._scheduler.has_work

    def stats(self) -> EngineStats:
        scheduler = self._scheduler
        return EngineStats(
            running=len(scheduler.running),
            waiting=scheduler.num_waiting,
            kv_cache_usage=scheduler.pool.usage,
            preemptions=scheduler.preemptions,
            prefix_cache_queries=scheduler.prefix_queries,
            prefix_cache_hits=scheduler.prefix_hits,
            prompt_tokens=self._prompt_tokens,
            generation_tokens=self._generation_tokens,
            step_seconds=self._step_seconds.histogram(),
            failed_steps=self._failed_steps,
        )

    def add(self, request: Request) -> None:
        """Queue all choices of a request."""
        params = request.params
        stop_ids = frozenset(params.stop_token_ids)
        if not params.ignore_eos:
            stop_ids |= self._eos
        self._requests.setdefault(request.request_id, []).append(request)
        self._prompt_tokens += len(request.prompt_token_ids)
        for sequence in request.make_sequences():
            sequence.stop_ids = stop_ids
            self._scheduler.add(sequence)

    def abort(self, request_ids: tuple[str, ...], index: int | None = None) -> None:
        """End the named requests now, or one choice of each."""
        for request_id in request_ids:
            for request in list(self._requests.get(request_id, ())):
                chosen = request.sequences if index is None else request.sequences[index : index + 1]
                self._end(chosen, "abort")

    def abort_all(self) -> None:
        """End everything, as on shutdown."""
        self.end_all("abort")

    def pause(self, *, abort: bool = False) -> None:
        if abort:
            self.abort_all()
        self.paused = True

    def drain(self, done: Callable[[], None]) -> None:
        """Finish the requests that are here, let later ones wait, then pause and call ``done``."""
        if self._scheduler.last_arrival is None:
            arrivals = [request.arrival for requests in self._requests.values() for request in requests]
            self._scheduler.last_arrival = max(arrivals, default=-1)
        self._drained.append(done)
        self._pause_if_drained()

    def resume(self) -> None:
        self.paused = False
        self._scheduler.last_arrival = None
        self._tell_drained()

    def _pause_if_drained(self) -> None:
        last = self._scheduler.last_arrival
        if last is None or any(
            request.arrival <= last for requests in self._requests.values() for request in requests
        ):
            return
        self.paused = True
        self._tell_drained()

    def _tell_drained(self) -> None:
        waiting, self._drained = self._drained, []
        for done in waiting:
            done()

    def replace_model(self, model: Decoder, version: str) -> None:
        """Run the next steps with other weights; what was read under the old ones is offered to nobody."""
        self._runner.replace_model(model)
        self.weight_version = version
        self.forget_prefixes()

    def forget_prefixes(self) -> None:
        self._scheduler.forget_prefixes()

    def step(self) -> None:
        """One forward pass and its consequences. An error in it ends the sequences of the step only."""
        self.step_began = began = time.monotonic()
        try:
            self._step()
        except Exception as error:
            # A fault of the engine's own bookkeeping: what it says about anybody cannot be trusted now.
            self._failed_steps += 1
            log.exception("the scheduler failed; ending every request")
            self.end_all("error", _describe(error))
        finally:
            self._step_seconds.observe(time.monotonic() - began)
            self.step_began = None

    def _step(self) -> None:
        step = self._scheduler.schedule()
        if not step.scheduled:
            return
        try:
            result = self._runner.run(step)
        except torch.OutOfMemoryError as error:
            self._out_of_memory(step, error)
        except Exception as error:
            self._fail(step, error)
        else:
            self._scheduler.complete(step)
            self._append(result)

    def _append(self, result: StepResult) -> None:
        self._generation_tokens += len(result.tokens)
        outputs = []
        done: set[Sequence] = set()
        for sequence, token, logprob in zip(result.sequences, result.tokens, result.logprobs, strict=True):
            sequence.append(token)
            if sequence.finish_reason is not None:
                done.add(sequence)
            outputs.append((sequence, token, logprob))
        if done:
            self._scheduler.remove(done)
        for sequence, token, logprob in outputs:
            if sequence.error is None:
                self._tell(sequence, self._output(sequence, [token], logprob))
            else:
                self._tell(sequence, self._output(sequence, [], error=sequence.error))
        for sequence in done:
            self._forget_if_finished(sequence.request)

    def _output(
        self,
        sequence: Sequence,
        tokens: list[int],
        logprob: TokenLogprob | None = None,
        error: str | None = None,
        *,
        unavailable: bool = False,
    ) -> TokenOutput:
        first = sequence.num_output <= 1
        return TokenOutput(
            index=sequence.index,
            token_ids=tokens,
            logprobs=None if logprob is None else [logprob],
            finish_reason=sequence.finish_reason,
            stop_reason=sequence.stop_reason,
            prompt_logprobs=sequence.prompt_logprobs if first else None,
            prompt_scores=sequence.prompt_scores if first else None,
            cached_tokens=sequence.cached_tokens or 0,
            error=error,
            unavailable=unavailable,
            finished=sequence.finish_reason is not None and sequence.request.open_choices == 1,
            weight_version=self.weight_version,
            queue_seconds=sequence.queue_seconds if first else None,
        )

    def _tell(self, sequence: Sequence, output: TokenOutput) -> None:
        request = sequence.request
        if request.open_choices == 0:
            # Its receiver failed earlier in this step.
            return
        if output.finish_reason is not None:
            request.open_choices -= 1
        try:
            request.on_output(output)
        except Exception:
            log.exception("the receiver of request %s failed; aborting it", request.request_id)
            self._drop(request)

    def _end(
        self,
        sequences: list[Sequence],
        reason: FinishReason,
        error: str | None = None,
        *,
        unavailable: bool = False,
    ) -> None:
        """Finish sequences for a reason of the engine's own and tell their callers."""
        open_ones = [sequence for sequence in sequences if sequence.status is not Status.FINISHED]
        self._scheduler.remove(set(open_ones))
        for sequence in open_ones:
            sequence.finish_reason = reason
        for sequence in open_ones:
            self._tell(sequence, self._output(sequence, [], error=error, unavailable=unavailable))
        for sequence in open_ones:
            self._forget_if_finished(sequence.request)

    def end_all(self, reason: FinishReason, error: str | None = None, *, unavailable: bool = False) -> None:
        """End every request and tell its caller why. ``unavailable``: the engine itself has come to its end."""
        for requests in list(self._requests.values()):
            for request in list(requests):
                self._end(request.sequences, reason, error, unavailable=unavailable)

    def _drop(self, request: Request) -> None:
        """Free a request whose receiver is broken; nobody is left to be told."""
        open_ones = {sequence for sequence in request.sequences if sequence.status is not Status.FINISHED}
        self._scheduler.remove(open_ones)
        request.open_choices = 0
        self._forget_if_finished(request)

    def _forget_if_finished(self, request: Request) -> None:
        if request.open_choices > 0:
            return
        same_id = self._requests.get(request.request_id, [])
        if request in same_id:
            same_id.remove(request)
            if not same_id:
                del self._requests[request.request_id]
            self._pause_if_drained()

    def _fail(self, step: Step, error: Exception) -> None:
        self._failed_steps += 1
        log.exception("a step of %d tokens failed", step.num_tokens, exc_info=error)
        self._end([item.sequence for item in step.scheduled], "error", _describe(error))

    def _out_of_memory(self, step: Step, error: Exception) -> None:
        """Read less per step from now on and try again; give up on the step where it is small already."""
        torch.cuda.empty_cache()
        scheduler = self._scheduler
        if len(step.scheduled) == 1 and step.num_tokens <= scheduler.smallest_budget:
            self._fail(step, error)
            return
        scheduler.shrink()
        for item in step.scheduled:
            scheduler.preempt(item.sequence)
        log.warning("out of memory: steps are limited to %d tokens now", scheduler.max_num_batched_tokens)


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
