"""Greedy ids and log probabilities against transformers, on tiny models with random weights."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from dragoman.engine import Engine, EngineConfig, UnsupportedModelError

from .collect import run
from .conftest import TINY_LLAMA

transformers = pytest.importorskip("transformers", reason="transformers is not installed")

SMALL = {**TINY_LLAMA, "head_dim": 16, "initializer_range": 0.2}
PROMPT = [5, 17, 99, 3, 200, 41, 41, 8, 77, 123, 250, 64, 31, 9, 180, 55, 12, 7, 66, 91, 5]
STEPS = 24


def _llama3_scaling() -> dict[str, Any]:
    return {
        "rope_theta": 10000.0,
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 64,
    }


def _yarn_scaling() -> dict[str, Any]:
    return {
        "rope_theta": 10000.0,
        "rope_type": "yarn",
        "factor": 4.0,
        "original_max_position_embeddings": 128,
    }


def _longrope_scaling(original: int) -> dict[str, Any]:
    """Models of 512 positions use the long factors where they were trained for fewer, else the short ones."""
    return {
        "rope_theta": 10000.0,
        "rope_type": "longrope",
        "short_factor": [1.0 + 0.1 * number for number in range(8)],
        "long_factor": [2.0 + 0.1 * number for number in range(8)],
        "original_max_position_embeddings": original,
    }


MODELS: dict[str, Callable[[], Any]] = {
    "llama": lambda: transformers.LlamaConfig(**SMALL),
    "llama-tied": lambda: transformers.LlamaConfig(**SMALL, tie_word_embeddings=True),
    "llama-multi-head": lambda: transformers.LlamaConfig(**{**SMALL, "num_key_value_heads": 4}),
    "llama-rope-llama3": lambda: transformers.LlamaConfig(**SMALL, rope_parameters=_llama3_scaling()),
    "llama-rope-yarn": lambda: transformers.LlamaConfig(**SMALL, rope_parameters=_yarn_scaling()),
    "llama-rope-linear": lambda: transformers.LlamaConfig(
        **SMALL, rope_parameters={"rope_theta": 10000.0, "rope_type": "linear", "factor": 2.0}
    ),
    "mistral": lambda: transformers.MistralConfig(**SMALL, sliding_window=9),
    "mistral-no-window": lambda: transformers.MistralConfig(**SMALL, sliding_window=None),
    "qwen2": lambda: transformers.Qwen2Config(**SMALL),
    "qwen2-sliding": lambda: transformers.Qwen2Config(
        **SMALL, use_sliding_window=True, sliding_window=9, max_window_layers=1
    ),
    "qwen3": lambda: transformers.Qwen3Config(**SMALL),
    "gemma3": lambda: transformers.Gemma3TextConfig(
        **{**SMALL, "num_hidden_layers": 6}, sliding_window=9, query_pre_attn_scalar=24
    ),
    "gemma3-softcap": lambda: transformers.Gemma3TextConfig(
        **{**SMALL, "num_hidden_layers": 6}, sliding_window=9, final_logit_softcapping=3.0
    ),
    "phi3": lambda: transformers.Phi3Config(**SMALL, sliding_window=11),
    "phi3-partial": lambda: transformers.Phi3Config(**SMALL, partial_rotary_factor=0.5),
    "phi3-longrope-short": lambda: transformers.Phi3Config(**SMALL, rope_parameters=_longrope_scaling(1024)),
    # The prompt alone is longer than 16, from where on transformers too takes the long factors.
    "phi3-longrope-long": lambda: transformers.Phi3Config(
        **SMALL, original_max_position_embeddings=16, rope_parameters=_longrope_scaling(16)
    ),
    "smollm3": lambda: transformers.SmolLM3Config(**{**SMALL, "num_hidden_layers": 5}),
    "olmo2": lambda: transformers.Olmo2Config(**SMALL),
}


def _save(name: str, directory: Path) -> Any:
    torch.manual_seed(11)
    config = MODELS[name]()
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    with torch.no_grad():
        # Fresh models have norm weights of 1 and biases of 0, which would hide a mix-up.
        for parameter_name, parameter in model.named_parameters():
            if parameter.ndim == 1:
                parameter.add_(torch.randn_like(parameter) * 0.1)
            assert torch.isfinite(parameter).all(), parameter_name
    model.save_pretrained(directory)
    return model


@torch.no_grad()
def _greedy(model: Any, prompt: list[int], steps: int) -> tuple[list[int], torch.Tensor]:
    """Ids by plain repeated forward passes, and log probabilities of every position."""
    tokens = list(prompt)
    for _ in range(steps):
        logits = model(torch.tensor([tokens]), use_cache=False).logits[0, -1]
        tokens.append(int(logits.argmax()))
    logprobs = torch.log_softmax(model(torch.tensor([tokens]), use_cache=False).logits[0].float(), -1)
    return tokens[len(prompt) :], logprobs


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("budget", [512, 8], ids=["whole-prompt", "chunked"])
def test_same_as_transformers(name: str, budget: int, tmp_path: Path) -> None:
    model = _save(name, tmp_path)
    expected, logprobs = _greedy(model, PROMPT, STEPS)
    engine = Engine(
        EngineConfig(
            model=tmp_path,
            device="cpu",
            dtype="float32",
            max_num_batched_tokens=budget,
            max_num_seqs=min(budget, 64),
            kv_cache_memory_bytes=8 << 20,
        )
    )
    engine.start()
    try:
        answer = run(
            engine, PROMPT, temperature=0.0, max_tokens=STEPS, ignore_eos=True, logprobs=3, prompt_logprobs=2
        )
    finally:
        engine.shutdown()
    assert answer.token_ids == expected
    for step, entry in enumerate(answer.choices[0].logprobs):
        reference = logprobs[len(PROMPT) - 1 + step]
        assert entry.logprob == pytest.approx(float(reference[entry.token_id]), abs=1e-4)
        top = reference.topk(3)
        assert [other.logprob for other in entry.top] == pytest.approx(top.values.tolist(), abs=1e-4)
    assert answer.prompt_logprobs is not None
    assert answer.prompt_logprobs[0] is None
    for position, entry in enumerate(answer.prompt_logprobs[1:]):
        assert entry is not None
        reference = logprobs[position]
        token = PROMPT[position + 1]
        assert entry.token_id == token
        assert entry.logprob == pytest.approx(float(reference[token]), abs=1e-4)
        assert entry.rank == int((reference >= reference[token] - 1e-6).sum())


def test_soft_capping_of_attention_is_refused(tmp_path: Path) -> None:
    """No published Gemma 3 has it; to leave it out would give other answers in silence."""
    config = transformers.Gemma3TextConfig(**SMALL, attn_logit_softcapping=50.0)
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path)
    with pytest.raises(UnsupportedModelError, match="attn_logit_softcapping"):
        Engine(EngineConfig(model=tmp_path))
