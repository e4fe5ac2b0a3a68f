"""What the engine survives, and that it gives everything back."""

from __future__ import annotations

import asyncio
import random
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from dragoman.engine import (
    Engine,
    EngineDeadError,
    InvalidRequestError,
    QueueFullError,
    SamplingParams,
    TokenOutput,
)

from .collect import Pending, run
from .engines import LONG, PROMPT, all_blocks_free, build


@pytest.mark.parametrize(
    ("prompt", "params", "parameter"),
    [
        ([], {}, "token_ids"),
        ([256], {}, "token_ids"),
        ([-1], {}, "token_ids"),
        ([1] * 512, {}, "token_ids"),
        ([1], {"temperature": -1.0}, "temperature"),
        ([1], {"temperature": float("nan")}, "temperature"),
        ([1], {"temperature": float("inf")}, "temperature"),
        ([1], {"top_p": 0.0}, "top_p"),
        ([1], {"top_p": float("nan")}, "top_p"),
        ([1], {"top_k": -2}, "top_k"),
        ([1], {"min_p": 1.5}, "min_p"),
        ([1], {"n": 0}, "n"),
        ([1], {"n": 2, "temperature": 0.0}, "n"),
        ([1], {"n": 10**9}, "n"),
        ([1] * 500, {"n": 16384, "max_tokens": 1, "logprob_token_ids": (1,) * 129}, "logprob_token_ids"),
        ([1], {"max_tokens": 0}, "max_tokens"),
        ([1], {"min_tokens": -1}, "min_tokens"),
        ([1], {"min_tokens": 4, "max_tokens": 3}, "min_tokens"),
        ([1], {"repetition_penalty": 0.0}, "repetition_penalty"),
        ([1], {"frequency_penalty": 100.0}, "frequency_penalty"),
        ([1], {"presence_penalty": 5.0}, "presence_penalty"),
        ([1], {"logprobs": 21}, "logprobs"),
        ([1], {"prompt_logprobs": -2}, "prompt_logprobs"),
        ([1], {"stop_token_ids": (256,)}, "stop_token_ids"),
        ([1], {"logit_bias": {-1: 1.0}}, "logit_bias"),
        ([1], {"logit_bias": {1: float("nan")}}, "logit_bias"),
        ([1], {"allowed_token_ids": ()}, "allowed_token_ids"),
        ([1], {"allowed_token_ids": (999,)}, "allowed_token_ids"),
        ([1], {"logprob_token_ids": (999,)}, "logprob_token_ids"),
        ([1], {"bad_words_token_ids": ((),)}, "bad_words_token_ids"),
    ],
)
def test_refuses_before_the_loop(
    engine: Engine, prompt: list[int], params: dict[str, Any], parameter: str
) -> None:
    with pytest.raises(InvalidRequestError) as refusal:
        run(engine, prompt, **params)
    assert refusal.value.parameter == parameter
    assert len(run(engine, PROMPT, max_tokens=2, ignore_eos=True).token_ids) == 2


def test_max_tokens_none_fills_the_context(engine: Engine) -> None:
    answer = run(engine, PROMPT, temperature=0.0, ignore_eos=True)
    assert len(answer.token_ids) == engine.max_model_len - len(PROMPT)
    assert answer.choices[0].finish_reason == "length"
    assert len(run(engine, PROMPT, temperature=0.0, ignore_eos=True, max_tokens=10**9).token_ids) == 504


def test_abort_ends_within_a_step(engine: Engine) -> None:
    pending = Pending(engine, PROMPT, LONG, request_id="abort-me")
    pending.first()
    engine.abort(["abort-me", "unknown"])
    answer = pending.result()
    assert answer.choices[0].finish_reason == "abort"
    assert len(answer.token_ids) < 400
    assert all_blocks_free(engine)


def test_failing_receiver_ends_its_request_only(engine: Engine) -> None:
    called = threading.Event()

    def broken(_: TokenOutput) -> None:
        called.set()
        raise RuntimeError("receiver is gone")

    other = Pending(engine, PROMPT, SamplingParams(temperature=0.0, ignore_eos=True, max_tokens=30))
    engine.submit("broken", PROMPT, LONG, on_output=broken)
    assert called.wait(30)
    assert len(other.result().token_ids) == 30
    assert all_blocks_free(engine)
    assert engine.stats.running == 0


def test_failing_step_ends_its_sequences_only(tiny_llama: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = build(tiny_llama)
    good = engine._loop._runner.run

    def bad(step: Any) -> Any:
        raise ValueError("a kernel said no")

    engine.start()
    try:
        monkeypatch.setattr(engine._loop._runner, "run", bad)
        answer = run(engine, PROMPT, max_tokens=4)
        assert answer.choices[0].finish_reason == "error"
        assert answer.choices[0].error == "ValueError: a kernel said no"
        monkeypatch.setattr(engine._loop._runner, "run", good)
        assert len(run(engine, PROMPT, max_tokens=4, ignore_eos=True).token_ids) == 4
        assert engine.is_healthy
        assert engine.stats.failed_steps == 1
        assert all_blocks_free(engine)
    finally:
        engine.shutdown()


def test_failing_scheduler_ends_everything_and_goes_on(
    tiny_llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = build(tiny_llama)
    good = engine._loop._scheduler.schedule

    def bad() -> Any:
        raise KeyError("lost a sequence")

    engine.start()
    try:
        monkeypatch.setattr(engine._loop._scheduler, "schedule", bad)
        answer = run(engine, PROMPT, max_tokens=4, n=3)
        assert {choice.finish_reason for choice in answer.choices.values()} == {"error"}
        assert answer.choices[0].error == "KeyError: 'lost a sequence'"
        monkeypatch.setattr(engine._loop._scheduler, "schedule", good)
        assert len(run(engine, PROMPT, max_tokens=4, ignore_eos=True).token_ids) == 4
        assert all_blocks_free(engine)
    finally:
        engine.shutdown()


def test_two_thousand_choices(engine: Engine) -> None:
    answer = run(engine, PROMPT, n=2000, seed=1, max_tokens=2, ignore_eos=True)
    assert len(answer.choices) == 2000
    assert {len(choice.token_ids) for choice in answer.choices.values()} == {2}
    assert all_blocks_free(engine)


def test_out_of_memory_shrinks_the_step(tiny_llama: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected_engine = build(tiny_llama)
    expected_engine.start()
    prompt = [7] * 300
    expected = run(expected_engine, prompt, temperature=0.0, max_tokens=5, ignore_eos=True).token_ids
    expected_engine.shutdown()

    engine = build(tiny_llama)
    good = engine._loop._runner.run

    def tight(step: Any) -> Any:
        if step.num_tokens > 150:
            raise torch.OutOfMemoryError("no room")
        return good(step)

    monkeypatch.setattr(engine._loop._runner, "run", tight)
    engine.start()
    try:
        assert run(engine, prompt, temperature=0.0, max_tokens=5, ignore_eos=True).token_ids == expected
        assert engine.stats.failed_steps == 0
    finally:
        engine.shutdown()


def test_out_of_memory_for_ever_fails_the_request(tiny_llama: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = build(tiny_llama)

    def none(_: Any) -> Any:
        raise torch.OutOfMemoryError("no room at all")

    monkeypatch.setattr(engine._loop._runner, "run", none)
    engine.start()
    try:
        answers = [Pending(engine, [7] * 300, LONG) for _ in range(3)]
        assert {answer.result().choices[0].finish_reason for answer in answers} == {"error"}
    finally:
        engine.shutdown()


class OddOnly:
    """A mask of odd ids that ends with the first that is divisible by five."""

    accepted = 0

    def __init__(self) -> None:
        self._last = 1

    def fill(self, row: NDArray[np.int32]) -> None:
        row.fill(np.int32(-1431655766))

    def accept(self, token: int) -> bool:
        self._last = token
        OddOnly.accepted += 1
        return token % 2 == 1

    @property
    def is_terminated(self) -> bool:
        return self._last % 5 == 0


def test_thousand_random_requests_leave_no_block(tiny_llama: Path) -> None:
    """Random lengths, parameters and aborts on a cache that is too small for them all."""
    engine = build(tiny_llama, max_num_seqs=24, max_num_batched_tokens=96, kv_cache_memory_bytes=600_000)
    engine.start()
    rng = random.Random(5)
    pending = []
    try:
        for number in range(1000):
            length = rng.choice([1, 3, 15, 16, 17, 40, 100])
            start = rng.randrange(4)
            prompt = [(start + step) % 250 for step in range(length)]
            params = SamplingParams(
                n=rng.choice([1, 1, 1, 2, 3]),
                temperature=rng.choice([0.5, 1.0]),
                top_k=rng.choice([0, 5]),
                max_tokens=rng.choice([1, 2, 9, 33]),
                ignore_eos=rng.random() < 0.5,
                logprobs=rng.choice([None, 2]),
                prompt_logprobs=rng.choice([None, None, None, 1]),
                repetition_penalty=rng.choice([1.0, 1.2]),
            )
            options = {"make_mask": OddOnly} if rng.random() < 0.2 else {}
            item = Pending(
                engine, prompt, params, request_id=f"r{number}", priority=rng.randrange(3), **options
            )
            pending.append(item)
            if rng.random() < 0.2:
                # One choice of many, as where it has met a stop string.
                engine.abort([f"r{rng.randrange(number + 1)}"], index=rng.randrange(3))
            if rng.random() < 0.2:
                engine.abort([f"r{rng.randrange(number + 1)}"])
        reasons = {choice.finish_reason for item in pending for choice in item.result().choices.values()}
        assert reasons <= {"stop", "length", "abort"}
        assert OddOnly.accepted > 0
        assert {"length", "abort"} <= reasons
        assert all_blocks_free(engine)
        assert engine.stats.running == engine.stats.waiting == 0
        assert not engine._loop._requests
    finally:
        engine.shutdown()


def test_queue_limit(tiny_llama: Path) -> None:
    """What runs counts too, and every choice of a request, as with vLLM's flag of that name."""
    engine = build(tiny_llama, max_num_queued_reqs=3)
    engine.start()
    try:
        running = Pending(engine, PROMPT, LONG)
        running.first()
        engine.pause().result()
        pending = Pending(engine, PROMPT, SamplingParams(max_tokens=1))
        with pytest.raises(QueueFullError, match="max_num_queued_reqs=3"):
            run(engine, PROMPT, max_tokens=1, n=2)
        last = Pending(engine, PROMPT, SamplingParams(max_tokens=1))
        with pytest.raises(QueueFullError, match="max_num_queued_reqs=3"):
            run(engine, PROMPT, max_tokens=1)
        assert engine.stats.rejections == 2
        engine.resume().result()
        for item in (pending, last):
            item.result()
        engine.abort((running.request_id,))
        running.result()
        run(engine, PROMPT, max_tokens=1, n=3)
        assert engine.stats.rejections == 2
    finally:
        engine.shutdown()


def test_shutdown_ends_what_runs(tiny_llama: Path) -> None:
    engine = build(tiny_llama)
    with pytest.raises(EngineDeadError):
        run(engine, PROMPT, max_tokens=1)
    assert not engine.is_healthy
    engine.start()
    assert engine.is_healthy
    pending = Pending(engine, PROMPT, LONG)
    pending.first()
    engine.shutdown()
    assert pending.result().choices[0].finish_reason == "abort"
    assert not engine.is_healthy
    with pytest.raises(EngineDeadError):
        run(engine, PROMPT, max_tokens=1)


def test_shutdown_can_wait_for_what_runs(tiny_llama: Path) -> None:
    engine = build(tiny_llama)
    engine.start()
    pending = Pending(engine, PROMPT, SamplingParams(temperature=0.0, ignore_eos=True, max_tokens=40))
    engine.shutdown(drain_seconds=60)
    assert pending.result().choices[0].finish_reason == "length"


def test_asyncio_bridge(engine: Engine) -> None:
    params = SamplingParams(temperature=0.0, ignore_eos=True, max_tokens=10)
    expected = Pending(engine, PROMPT, params).result().token_ids

    async def collect(name: str) -> list[int]:
        return [token async for output in engine.generate(name, PROMPT, params) for token in output.token_ids]

    async def main() -> list[list[int]]:
        return await asyncio.gather(*(collect(f"async-{number}") for number in range(5)))

    assert asyncio.run(main()) == [expected] * 5


def test_leaving_the_iterator_aborts(engine: Engine) -> None:
    async def closed() -> None:
        iterator = engine.generate("closed", PROMPT, LONG)
        async for _ in iterator:
            break
        await iterator.aclose()

    async def cancelled() -> None:
        async def consume() -> None:
            async for _ in engine.generate("cancelled", PROMPT, LONG):
                pass

        task = asyncio.create_task(consume())
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    before = engine.stats.generation_tokens
    for leave in (closed, cancelled):
        asyncio.run(leave())
        stats = engine.call(lambda: engine.stats).result()
        assert stats.running == 0
        assert stats.kv_cache_usage == 0.0
    assert engine.stats.generation_tokens - before < 2 * 504


def test_cache_too_small_for_one_sequence_is_refused(tiny_llama: Path) -> None:
    with pytest.raises(ValueError, match="lower max_model_len"):
        build(tiny_llama, kv_cache_memory_bytes=1000)


def test_context_longer_than_the_model_is_refused(tiny_llama: Path) -> None:
    with pytest.raises(ValueError, match="max_position_embeddings=512"):
        build(tiny_llama, max_model_len=513)


def test_check_refuses_what_submit_refuses(engine: Engine) -> None:
    engine.check(PROMPT, SamplingParams())
    with pytest.raises(InvalidRequestError):
        engine.check([256], SamplingParams())
    with pytest.raises(InvalidRequestError):
        engine.check(PROMPT, SamplingParams(top_p=2.0))


class Killed(BaseException):
    """What no guard of the loop catches."""


def _kill() -> None:
    raise Killed


def _waiting(outputs: list[TokenOutput]) -> Any:
    """Takes outputs, and tells when the request is over."""
    done = threading.Event()

    def take(output: TokenOutput) -> None:
        outputs.append(output)
        if output.finished:
            done.set()

    return take, done


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("state", ["idle", "accepting", "stepping", "paused", "draining"])
def test_nobody_waits_for_an_engine_that_died(
    state: str, tiny_llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the thread was doing: what it had taken and what was in its inbox is answered, and says why."""
    engine = build(tiny_llama)
    engine.start()
    outputs: list[TokenOutput] = []
    running, runs = _waiting(outputs)
    params = SamplingParams(max_tokens=400, ignore_eos=True)
    gate, blocked = threading.Event(), threading.Event()

    def block() -> None:
        blocked.set()
        gate.wait(10)

    if state in ("stepping", "draining"):
        engine.submit("runs", PROMPT, params, on_output=running)
        while not outputs:
            threading.Event().wait(0.01)
    if state == "paused":
        engine.pause().result(10)
        engine.submit("waits", PROMPT, params, on_output=running)
    if state == "draining":
        drained = engine.pause("wait")
    engine.call(block)
    assert blocked.wait(10)
    # Behind this the thread finds its end, and then what nobody will take any more.
    if state == "accepting":
        monkeypatch.setattr(engine._loop, "add", lambda _: _kill())
    elif state == "stepping":
        monkeypatch.setattr(engine._loop, "step", _kill)
    else:
        engine.call(_kill)
    late: list[TokenOutput] = []
    take, ended = _waiting(late)
    engine.submit("late", PROMPT, params, on_output=take)
    future = engine.call(lambda: None) if state != "stepping" else None
    gate.set()
    assert ended.wait(10)
    assert (late[-1].finish_reason, late[-1].unavailable) == ("error", True)
    assert late[-1].error
    if outputs or state == "paused":
        assert runs.wait(10)
        assert outputs[-1].unavailable
    if future is not None:
        with pytest.raises(EngineDeadError):
            future.result(10)
    assert not engine.is_healthy
    with pytest.raises(EngineDeadError):
        engine.submit("later", PROMPT, params, on_output=take)
    if state == "draining":
        assert drained.result(10) is None
    engine.shutdown()


def test_what_waits_is_answered_when_the_engine_stops(tiny_llama: Path) -> None:
    engine = build(tiny_llama)
    engine.start()
    gate, blocked = threading.Event(), threading.Event()

    def block() -> None:
        blocked.set()
        gate.wait(10)

    engine.call(block)
    assert blocked.wait(10)
    outputs: list[TokenOutput] = []
    take, ended = _waiting(outputs)
    engine.submit("late", PROMPT, SamplingParams(n=3, max_tokens=5), on_output=take)
    future = engine.call(lambda: None)
    engine._stopping = True
    gate.set()
    assert ended.wait(10)
    assert (outputs[-1].finish_reason, outputs[-1].error) == ("error", "the engine has stopped")
    with pytest.raises(EngineDeadError):
        future.result(10)
    engine.shutdown()


def test_no_wake_up_is_lost_between_the_threads() -> None:
    """The engine's thread adds outputs at every moment of the loop's reading them."""
    from dragoman.engine.bridge import stream

    async def read() -> int:
        threads: list[threading.Thread] = []

        def begin(on_output: Any) -> None:
            def produce() -> None:
                for number in range(20_000):
                    on_output(TokenOutput(index=0, token_ids=[number], finished=number == 19_999))

            threads.append(threading.Thread(target=produce))
            threads[0].start()

        count = 0
        async for _ in stream(begin, lambda: None):
            count += 1
            if count % 7 == 0:
                await asyncio.sleep(0)
        threads[0].join()
        return count

    assert asyncio.run(asyncio.wait_for(read(), 60)) == 20_000
