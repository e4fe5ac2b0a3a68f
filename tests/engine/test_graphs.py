"""Decoding steps padded to fixed shapes, with an eager stand-in for the captured graph.

What a GPU replays is the same work on the same buffers, so what is left to a GPU is the capture alone.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from dragoman.engine import Engine, SamplingParams
from dragoman.engine.attention.graphs import Replay, pad_batch, pad_width
from dragoman.engine.runner import ModelRunner
from dragoman.engine.weights.loading import load

from .collect import Pending
from .conftest import TINY_LLAMA
from .engines import PROMPT, all_blocks_free, build

transformers = pytest.importorskip("transformers", reason="transformers is not installed")

GREEDY = SamplingParams(temperature=0.0, max_tokens=30, ignore_eos=True, logprobs=2)
PROMPTS = [PROMPT[:length] for length in (8, 3, 1, 5, 2)] + [[7] * 300]
SMALL = {**TINY_LLAMA, "head_dim": 16, "initializer_range": 0.2}
MODELS: dict[str, Callable[[], Any]] = {
    "llama": lambda: transformers.LlamaConfig(**SMALL),
    "gemma3": lambda: transformers.Gemma3TextConfig(**{**SMALL, "num_hidden_layers": 6}, sliding_window=9),
}


class Recorder:
    """Keeps the work and runs it again: what a graph does, without one."""

    def __init__(self) -> None:
        self.recorded = 0
        self.replayed = 0

    def __call__(self, work: Replay) -> Replay:
        self.recorded += 1

        def replay() -> None:
            self.replayed += 1
            work()

        return replay


def recorded(engine: Engine) -> Recorder:
    recorder = Recorder()
    runner = engine._loop._runner
    engine._loop._runner = ModelRunner(
        runner.model, runner.attention, max_num_seqs=engine.config.max_num_seqs, record=recorder
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
