"""Other weights in a running engine, and what its prefix cache keeps of the old ones."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from dragoman.engine import SamplingParams, UnsupportedModelError

from .collect import Pending, run
from .engines import build


def test_other_weights_into_the_running_model(tiny_llama: Path, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    torch.manual_seed(99)
    config = transformers.AutoConfig.from_pretrained(tiny_llama)
    transformers.LlamaForCausalLM(config).save_pretrained(tmp_path / "other")
    config.num_key_value_heads = 1
    transformers.LlamaForCausalLM(config).save_pretrained(tmp_path / "misfit")
    fresh = build(tmp_path / "other")
    fresh.start()
    prompt = [(3 * step) % 250 for step in range(40)]
    expected = run(fresh, prompt, temperature=0.0, max_tokens=8, ignore_eos=True).token_ids
    fresh.shutdown()

    engine = build(tiny_llama)
    engine.start()
    try:
        before = run(engine, prompt, temperature=0.0, max_tokens=8, ignore_eos=True)
        assert before.token_ids != expected
        assert {output.weight_version for output in before.outputs} == {"default"}
        with pytest.raises(UnsupportedModelError, match="num_kv_heads"):
            engine.update_weights(tmp_path / "misfit")
        engine.update_weights(tmp_path / "other", "step-2").result()
        after = run(engine, prompt, temperature=0.0, max_tokens=8, ignore_eos=True)
        assert after.token_ids == expected
        assert {output.weight_version for output in after.outputs} == {"step-2"}
        assert after.outputs[0].cached_tokens == 0
    finally:
        engine.shutdown()


def test_running_sequences_offer_nothing_after_a_reset(tiny_llama: Path) -> None:
    engine = build(tiny_llama)
    engine.start()
    try:
        prompt = [(5 * step) % 250 for step in range(33)]
        pending = Pending(
            engine,
            prompt,
            SamplingParams(temperature=0.0, ignore_eos=True, max_tokens=200),
            request_id="long",
        )
        pending.first()
        engine.reset_prefix_cache().result()
        whole = prompt + pending.result().token_ids
        assert run(engine, whole, temperature=0.0, max_tokens=1).outputs[0].cached_tokens == 0
        assert run(engine, whole, temperature=0.0, max_tokens=1).outputs[0].cached_tokens == 224
    finally:
        engine.shutdown()
