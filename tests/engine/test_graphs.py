"""Decoding steps padded to fixed shapes, with an eager stand-in for the captured graph.

What a GPU replays is the same work on the same buffers, so what is left to a GPU is the capture alone.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from dragoman.engine import Engine, SamplingParams, TokenOutput
from dragoman.engine.attention.graphs import DecodeGraphs, Record, Replay, pad_batch, pad_width
from dragoman.engine.runner import ModelRunner
from dragoman.engine.scheduler import ScheduledSequence
from dragoman.engine.weights.loading import load

from .collect import Pending, run
from .conftest import TINY_LLAMA
from .engines import PROMPT, all_blocks_free, build
from .refusing import CAPTURE_REFUSES, Refusing

transformers = pytest.importorskip("transformers", reason="transformers is not installed")

GREEDY = SamplingParams(temperature=0.0, max_tokens=30, ignore_eos=True, logprobs=2)
PROMPTS = [PROMPT[:length] for length in (8, 3, 1, 5, 2)] + [[7] * 300]
SMALL = {**TINY_LLAMA, "head_dim": 16, "initializer_range": 0.2}
MODELS: dict[str, Callable[[], Any]] = {
    "llama": lambda: transformers.LlamaConfig(**SMALL),
    "gemma3": lambda: transformers.Gemma3TextConfig(**{**SMALL, "num_hidden_layers": 6}, sliding_window=9),
}


class Recorder:
    """Keeps the work and runs it again: what a graph does, without one. Numbers stay on the device."""

    def __init__(self) -> None:
        self.recorded = 0
        self.replayed = 0

    def __call__(self, work: Replay) -> Replay:
        self.recorded += 1

        def replay() -> None:
            self.replayed += 1
            with Refusing(CAPTURE_REFUSES):
                work()

        return replay


def recorded(engine: Engine, record: Record | None = None) -> Recorder:
    """Lets the engine decode by ``record``, or by the recorder that is returned."""
    recorder = Recorder()
    runner = engine._loop._runner
    engine._loop._runner = ModelRunner(
        runner.model,
        runner.attention,
        max_num_seqs=engine.config.max_num_seqs,
        recorder=lambda: record or recorder,
    )
    return recorder


def answers(engine: Engine) -> list[Any]:
    engine.start()
    try:
        pending = [Pending(engine, prompt, GREEDY) for prompt in PROMPTS]
        results = [item.result() for item in pending]
        assert all_blocks_free(engine)
        return results
    finally:
        engine.shutdown()


@pytest.fixture(params=MODELS)
def saved(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    torch.manual_seed(23)
    config = MODELS[request.param]()
    transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32).save_pretrained(tmp_path)
    return tmp_path


def test_padding_changes_nothing(saved: Path) -> None:
    expected = answers(build(saved))
    engine = build(saved)
    recorder = recorded(engine)
    got = answers(engine)
    assert recorder.replayed > 25
    # Six sequences, then those that are left while the last of them finish; two context widths.
    assert 1 <= recorder.recorded <= 6
    for mine, other in zip(got, expected, strict=True):
        assert mine.token_ids == other.token_ids
        for step, reference in zip(mine.choices[0].logprobs, other.choices[0].logprobs, strict=True):
            assert step.logprob == pytest.approx(reference.logprob, abs=1e-4)


@pytest.mark.parametrize("work", [lambda: torch.ones(2).sum().item(), lambda: torch.tensor([1, 2])])
def test_the_stand_in_refuses_what_a_capture_refuses(work: Replay) -> None:
    with pytest.raises(RuntimeError, match="is refused"):
        Recorder()(work)()


def count_fills(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by the number of sequences whenever a step's inputs are made anew."""
    fills: list[int] = []
    fill = DecodeGraphs._fill

    def counted(self: DecodeGraphs, shape: Any, items: list[ScheduledSequence]) -> None:
        fills.append(len(items))
        fill(self, shape, items)

    monkeypatch.setattr(DecodeGraphs, "_fill", counted)
    return fills


def test_prepared_inputs_serve_while_the_same_sequences_go_on(
    tiny_llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six times over the end of a block, which the prepared inputs do not have yet."""
    params: dict[str, Any] = {"temperature": 0.0, "max_tokens": 100, "ignore_eos": True}
    fills = count_fills(monkeypatch)
    engine = build(tiny_llama)
    recorder = recorded(engine)
    engine.start()
    try:
        got = run(engine, PROMPT, **params).token_ids
    finally:
        engine.shutdown()
    engine = build(tiny_llama)
    engine.start()
    try:
        assert run(engine, PROMPT, **params).token_ids == got
    finally:
        engine.shutdown()
    assert recorder.replayed == 99
    assert fills == [1]


def churn(engine: Engine) -> dict[str, tuple[list[int], str | None]]:
    """Requests that come, end and are aborted, step by step; what each answered, and how it ended."""
    rng = random.Random(31)
    answered: dict[str, tuple[list[int], str | None]] = {}
    loop, admission = engine._loop, engine._admission

    def submit(name: str) -> None:
        answered[name] = ([], None)

        def take(output: TokenOutput) -> None:
            answered[name] = ([*answered[name][0], *output.token_ids], output.finish_reason)

        params = SamplingParams(
            temperature=rng.choice([0.0, 1.0]), seed=5, max_tokens=rng.randrange(1, 80), ignore_eos=True
        )
        prompt = [rng.randrange(256) for _ in range(rng.randrange(1, 200))]
        loop.add(
            admission.request(
                name, prompt, params, priority=0, cache_salt=None, make_mask=None, on_output=take
            )
        )

    for number in range(60):
        submit(f"r{number}")
        for _ in range(rng.randrange(12)):
            loop.step()
        if number % 4 == 3:
            loop.abort((f"r{rng.randrange(number + 1)}",))
    while loop.has_work:
        loop.step()
    return answered


def test_prepared_inputs_are_dropped_when_others_come_go_or_lose_their_blocks(
    tiny_llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # 64 blocks, where eight sequences grow to as many as 140.
    settings: dict[str, Any] = {"max_num_seqs": 8, "kv_cache_memory_bytes": 64 * 8192}
    expected = churn(build(tiny_llama, **settings))
    fills = count_fills(monkeypatch)
    engine = build(tiny_llama, **settings)
    recorder = recorded(engine)
    assert churn(engine) == expected
    assert {reason for _, reason in expected.values()} == {"length", "abort"}
    assert engine.stats.preemptions > 0
    assert engine.stats.kv_cache_usage == 0.0
    assert 60 < len(fills) < recorder.replayed / 2


def test_prepared_inputs_of_another_sequence_are_dropped(tiny_llama: Path) -> None:
    """The second request goes on at the position that was prepared for the first one."""
    second = [9, 8, 7, 6, 5, 4, 3, 2, 1]

    def answer(engine: Engine) -> list[int]:
        tokens: list[int] = []
        loop, admission = engine._loop, engine._admission
        for name, prompt in (("first", PROMPT), ("second", second)):
            tokens.clear()
            request = admission.request(
                name,
                prompt,
                GREEDY,
                priority=0,
                cache_salt=None,
                make_mask=None,
                on_output=lambda output: tokens.extend(output.token_ids),
            )
            loop.add(request)
            if name == "first":
                # Its prompt, then one decode at position 8.
                loop.step()
                loop.step()
                assert request.sequences[0].num_computed == len(second)
                loop.abort((name,))
        while loop.has_work:
            loop.step()
        return tokens

    engine = build(tiny_llama)
    recorded(engine)
    assert answer(engine) == answer(build(tiny_llama))


def test_steps_that_would_gather_more_than_is_set_aside_run_eagerly(tiny_llama: Path) -> None:
    """Four sequences padded to 16 blocks each, of which a cache of 32 sets 64 aside; then eight."""
    engine = build(tiny_llama, max_num_seqs=8, kv_cache_memory_bytes=32 * 8192)
    recorder = recorded(engine)
    engine.start()
    try:
        for count, replayed in ((8, 0), (4, 5)):
            engine.pause().result()
            params = SamplingParams(temperature=0.0, max_tokens=6, ignore_eos=True)
            pending = [Pending(engine, PROMPT, params) for _ in range(count)]
            engine.resume().result()
            for item in pending:
                item.result()
            assert recorder.replayed == replayed
    finally:
        engine.shutdown()


def test_what_cannot_be_captured_runs_all_the_same(
    tiny_llama: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(work: Replay) -> Replay:
        raise RuntimeError("operation not permitted when stream is capturing")

    expected = [answer.token_ids for answer in answers(build(tiny_llama))]
    engine = build(tiny_llama)
    recorded(engine, refuse)
    assert [answer.token_ids for answer in answers(engine)] == expected
    assert "cannot be captured" in caplog.text


def test_new_weights_are_recorded_anew(tiny_llama: Path, tmp_path: Path) -> None:
    torch.manual_seed(29)
    transformers.LlamaForCausalLM(transformers.LlamaConfig(**SMALL)).save_pretrained(tmp_path)
    expected = answers(build(tmp_path))
    engine = build(tiny_llama)
    recorder = recorded(engine)
    before = [answer.token_ids for answer in answers(engine)]
    first = recorder.recorded
    engine._loop.replace_model(load(tmp_path, engine.device, engine.dtype), "new")
    after = [answer.token_ids for answer in answers(engine)]
    assert recorder.recorded > first
    assert after == [answer.token_ids for answer in expected]
    assert after != before


def test_ladders() -> None:
    assert [pad_batch(count) for count in (1, 2, 3, 5, 8, 9, 17, 64, 250)] == [1, 2, 4, 8, 8, 16, 24, 64, 256]
    assert [pad_width(blocks) for blocks in (1, 16, 17, 33, 256)] == [16, 16, 32, 64, 256]
