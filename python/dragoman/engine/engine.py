"""The engine: requests go in from any thread, outputs come back from the engine's own."""

from __future__ import annotations

import dataclasses
import logging
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable
from collections.abc import Sequence as AbstractSequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

import torch

from dragoman.engine.admission import Admission
from dragoman.engine.attention.graphs import capture
from dragoman.engine.attention.paged import PagedAttention
from dragoman.engine.bridge import stream
from dragoman.engine.config import EngineConfig, PauseMode
from dragoman.engine.errors import EngineDeadError, QueueFullError
from dragoman.engine.kv_cache import BlockPool
from dragoman.engine.loop import EngineLoop
from dragoman.engine.memory import count_blocks, keep_freed_memory
from dragoman.engine.output import TokenOutput
from dragoman.engine.params import SamplingParams
from dragoman.engine.runner import ModelRunner
from dragoman.engine.scheduler import Scheduler
from dragoman.engine.sequence import Request
from dragoman.engine.statistics import EngineStats
from dragoman.engine.threads import apart
from dragoman.engine.token_mask import MakeMask
from dragoman.engine.weights.loading import (
    Progress,
    choose_device,
    choose_dtype,
    load,
    require_same_shape,
)

Result = TypeVar("Result")

STUCK_AFTER_SECONDS = 120.0
"""A step that takes longer than this makes the engine unhealthy."""

log = logging.getLogger(__name__)


DEAD = "the engine's loop is dead"


@dataclasses.dataclass(frozen=True, slots=True)
class Message:
    """Something for the engine's thread to do between two steps, or to refuse where the thread ends before."""

    run: Callable[[], None]
    refuse: Callable[[str], None] = lambda _: None


class Engine:
    """One model on one device.

    The constructor loads the weights and takes the cache's memory; :meth:`start` starts the thread that
    runs the steps. Every method may be called from any thread.
    """

    def __init__(self, config: EngineConfig, *, on_layer: Progress | None = None) -> None:
        """Raises ``UnsupportedModelError`` for the model and ``ValueError`` for settings that do not fit."""
        self.config = config
        self.device = choose_device(config)
        self.dtype = choose_dtype(config.dtype, self.device)
        if self.device.type == "cpu":
            keep_freed_memory()
        if config.cpu_threads is not None:
            torch.set_num_threads(config.cpu_threads)
        model = apart(
            lambda: load(
                Path(config.model),
                self.device,
                self.dtype,
                max_model_len=config.max_model_len,
                on_layer=on_layer,
            )
        )
        self._model = model.config
        blocks = count_blocks(config, model.config, self.device, self.dtype)
        pool = BlockPool(blocks, config.block_size, caching=config.enable_prefix_caching)
        attention = apart(
            lambda: PagedAttention(model.config, blocks, config.block_size, self.device, self.dtype)
        )
        scheduler = Scheduler(
            pool, max_num_seqs=config.max_num_seqs, max_num_batched_tokens=config.max_num_batched_tokens
        )
        captures = self.device.type == "cuda" and not config.enforce_eager
        runner = ModelRunner(
            model, attention, max_num_seqs=config.max_num_seqs, recorder=capture if captures else None
        )
        self._loop = EngineLoop(scheduler, runner, self.eos_token_ids)
        self._admission = Admission(model.config, config.seed, config.max_logprobs)
        self._wake = threading.Condition()
        self._inbox: deque[Message] = deque()
        self._submitted_choices = 0
        self._rejections = 0
        self._thread: threading.Thread | None = None
        self._stopping = False
        self._draining = False
        self._dead = False

    @property
    def vocab_size(self) -> int:
        """Number of token ids, the output projection's rows."""
        return self._model.vocab_size

    @property
    def max_model_len(self) -> int:
        """Most tokens of a prompt and its output together."""
        return self._model.max_positions

    @property
    def eos_token_ids(self) -> tuple[int, ...]:
        """Ids that end a sequence unless ``ignore_eos`` is set; the first is the main one."""
        return self._model.eos_token_ids

    @property
    def is_healthy(self) -> bool:
        """False where the loop is not running, or has been in one step for too long."""
        thread = self._thread
        if thread is None or not thread.is_alive() or self._dead:
            return False
        began = self._loop.step_began
        return began is None or time.monotonic() - began < STUCK_AFTER_SECONDS

    @property
    def stats(self) -> EngineStats:
        """A snapshot of the counters."""
        return dataclasses.replace(self._loop.stats(), rejections=self._rejections)

    def start(self) -> None:
        """Start the engine's thread. Starting twice is starting once."""
        if self._thread is None:
            self._stopping = False
            self._thread = threading.Thread(target=self._main, name="dragoman-engine", daemon=True)
            self._thread.start()

    def shutdown(self, *, drain_seconds: float = 0.0) -> None:
        """Stop the thread; new requests are refused at once.

        What is running may finish within ``drain_seconds``; the rest ends with ``finish_reason`` "abort".
        """
        thread = self._thread
        if thread is None:
            return
        with self._wake:
            self._draining = True
            self._wake.notify()
        deadline = time.monotonic() + drain_seconds
        while drain_seconds and time.monotonic() < deadline and thread.is_alive() and not self._idle():
            time.sleep(0.01)
        with self._wake:
            self._stopping = True
            self._wake.notify()
        thread.join()
        self._thread = None
        self._draining = False

    def submit(
        self,
        request_id: str,
        prompt_token_ids: AbstractSequence[int],
        params: SamplingParams,
        *,
        priority: int = 0,
        cache_salt: str | None = None,
        make_mask: MakeMask | None = None,
        on_output: Callable[[TokenOutput], None],
    ) -> None:
        """Queue a request. Lower ``priority`` goes first; ``make_mask`` makes what constrains each choice.

        ``on_output`` is called on the engine's thread, so it must be quick and must not call back into the
        engine other than to submit or abort; an exception from it aborts the request. Raises
        ``InvalidRequestError`` (a ``ValueError``) for a request that cannot run, ``QueueFullError`` and
        ``EngineDeadError``.
        """
        request = self._admission.request(
            request_id,
            prompt_token_ids,
            params,
            priority=priority,
            cache_salt=cache_salt,
            make_mask=make_mask,
            on_output=on_output,
        )
        limit = self.config.max_num_queued_reqs
        with self._wake:
            self._require_running()
            queued = self._submitted_choices + self._loop.num_queued
            if limit is not None and queued + params.n > limit:
                self._rejections += 1
                raise QueueFullError(
                    f"{params.n} more than the {queued} choices that run or wait are more than "
                    f"max_num_queued_reqs={limit}; try again later"
                )
            self._submitted_choices += params.n
            self._post(Message(lambda: self._accept(request), lambda why: _refuse(request, why)))

    def check(self, prompt_token_ids: AbstractSequence[int], params: SamplingParams) -> None:
        """Raise what :meth:`submit` would raise for a request that cannot run, without submitting it."""
        self._admission.check(prompt_token_ids, params)

    async def generate(
        self,
        request_id: str,
        prompt_token_ids: AbstractSequence[int],
        params: SamplingParams,
        *,
        priority: int = 0,
        cache_salt: str | None = None,
        make_mask: MakeMask | None = None,
    ) -> AsyncGenerator[TokenOutput, None]:
        """The same for asyncio: outputs as they come. Leaving the iterator early aborts the request."""

        def begin(on_output: Callable[[TokenOutput], None]) -> None:
            self.submit(
                request_id,
                prompt_token_ids,
                params,
                priority=priority,
                cache_salt=cache_salt,
                make_mask=make_mask,
                on_output=on_output,
            )

        async for output in stream(begin, lambda: self.abort((request_id,))):
            yield output

    def abort(self, request_ids: Iterable[str], *, index: int | None = None) -> None:
        """End requests within a step; their open choices finish with "abort". Unknown ids are ignored.

        With ``index`` only that choice of each ends.
        """
        ids = tuple(request_ids)
        with self._wake:
            if self._dead:
                return
            self._post(Message(lambda: self._loop.abort(ids, index)))

    def pause(self, mode: PauseMode = "keep") -> Future[None]:
        """Run no more steps until :meth:`resume`; requests that come meanwhile wait.

        The requests that are here freeze ("keep"), end with "abort", or are finished first ("wait"). The future
        is done when the engine stands still, or was resumed before it did.
        """
        if mode == "wait":
            return self._drain()
        return self.call(lambda: self._loop.pause(abort=mode == "abort"))

    def _drain(self) -> Future[None]:
        drained: Future[None] = Future()

        def done() -> None:
            if not drained.done():
                drained.set_result(None)

        self.call(lambda: self._loop.drain(done))
        return drained

    def resume(self) -> Future[None]:
        """Go on after :meth:`pause`."""
        return self.call(self._loop.resume)

    @property
    def is_paused(self) -> bool:
        return self._loop.paused

    def reset_prefix_cache(self) -> Future[None]:
        """Forget the contents of all cached blocks; running sequences keep theirs."""
        return self.call(self._loop.forget_prefixes)

    def update_weights(self, path: str | Path, version: str = "default") -> Future[None]:
        """Put other weights of the same shape into the running model.

        The call returns when the files are read; the change happens between two steps. Running sequences
        go on with what they have read under the old weights; the prefix cache is dropped. Outputs carry
        ``version`` from then on. Raises ``UnsupportedModelError`` for files that do not fit.
        """
        model = apart(lambda: load(Path(path), self.device, self.dtype, max_model_len=self.max_model_len))
        require_same_shape(self._loop.model, model)
        return self.call(lambda: self._loop.replace_model(model, version))

    def call(self, action: Callable[[], Result]) -> Future[Result]:
        """Run ``action`` on the engine's thread between two steps."""
        future: Future[Result] = Future()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(action())
            except Exception as error:
                future.set_exception(error)

        def refuse(why: str) -> None:
            if not future.done():
                future.set_exception(EngineDeadError(why))

        with self._wake:
            self._require_running()
            self._post(Message(run, refuse))
        return future

    def _accept(self, request: Request) -> None:
        self._loop.add(request)
        with self._wake:
            self._submitted_choices -= request.params.n

    def _post(self, message: Message) -> None:
        """To be called with ``_wake`` held."""
        self._inbox.append(message)
        self._wake.notify()

    def _require_running(self) -> None:
        if self._thread is None or not self._thread.is_alive() or self._dead or self._draining:
            raise EngineDeadError("the engine is not running")

    def _idle(self) -> bool:
        with self._wake:
            return not self._inbox and not self._loop.has_work

    def _main(self) -> None:
        """The thread. However it ends, nobody is left waiting: what runs is ended, what waits is refused."""
        try:
            self._run()
            self._loop.abort_all()
            self._refuse_waiting("the engine has stopped")
        except BaseException:
            # Nothing that the loop guards against: a thread killed, memory gone.
            log.exception("the engine's loop is dead")
            self._dead = True
            self._loop.end_all("error", DEAD, unavailable=True)
            self._refuse_waiting(DEAD)

    def _run(self) -> None:
        while True:
            with self._wake:
                while not (self._inbox or self._stopping or self._loop.can_step):
                    self._wake.wait()
                if self._stopping:
                    return
                waiting = len(self._inbox)
            # Those that are here now, so that a step is not put off by those that come meanwhile. A message leaves
            # the inbox when it is done: one that kills the thread is refused too.
            for _ in range(waiting):
                _guarded(self._inbox[0].run)
                self._inbox.popleft()
            if self._loop.can_step:
                _guarded(self._loop.step)

    def _refuse_waiting(self, why: str) -> None:
        with self._wake:
            waiting = list(self._inbox)
            self._inbox.clear()
            self._submitted_choices = 0
        for message in waiting:
            _guarded(lambda message=message: message.refuse(why))  # type: ignore[misc]


def _refuse(request: Request, why: str) -> None:
    """Tell the caller of a request that the loop has not taken."""
    if request.sequences:
        return
    request.on_output(
        TokenOutput(index=0, token_ids=[], finish_reason="error", error=why, unavailable=True, finished=True)
    )


def _guarded(action: Callable[[], Any]) -> None:
    """Run something on the engine's thread; whatever it raises is logged, so that the thread lives on."""
    try:
        action()
    except Exception:
        log.exception("unexpected error in the engine's loop")
