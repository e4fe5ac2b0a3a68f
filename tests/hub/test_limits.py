"""Context, end tokens and default sampling, against what vLLM 0.32 served for the same directories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dragoman.hub import ModelFiles, resolve
from dragoman.hub.limits import context_length, default_sampling, eos_token_ids, generation_config
from tests.conformance.data import json_lines


@pytest.mark.parametrize("model", ["deepseek", "gemma3", "llama3", "qwen3", "smollm2"])
def test_the_context_is_what_vllm_serves(model: str, shared: Path) -> None:
    cases = json_lines(shared / f"conformance/render/{model}.jsonl")
    served = next(case for case in cases if case["path"] == "GET /v1/models")
    expected = served["response"]["data"][0]["max_model_len"]
    assert context_length(resolve(str(shared / "models" / model))) == expected


@pytest.mark.parametrize(
    ("flags", "override"),
    [("qwen3", {}), ("qwen3__override-generation", {"temperature": 0.1, "max_new_tokens": 50, "top_k": 3})],
)
def test_default_sampling_is_what_vllm_renders(flags: str, override: dict[str, Any], shared: Path) -> None:
    files = resolve(str(shared / "models/qwen3"))
    case = next(c for c in json_lines(shared / f"conformance/render/{flags}.jsonl") if c["name"] == "single")
    rendered = case["response"]["sampling_params"]
    found = default_sampling({**generation_config(files, "auto"), **override})
    assert found == {key: rendered[key] for key in found}
    assert {"temperature", "top_k", "top_p"} <= set(found)


def test_without_the_models_own_generation_config(shared: Path) -> None:
    files = resolve(str(shared / "models/qwen3"))
    assert default_sampling(generation_config(files, "vllm")) == {}


def test_end_tokens_are_those_of_both_files(shared: Path) -> None:
    files = resolve(str(shared / "models/qwen3"))
    assert eos_token_ids(files, files.generation_config) == (151645, 151643)


def model_files(config: dict[str, Any], tokenizer_config: dict[str, Any] | None = None) -> ModelFiles:
    return ModelFiles(
        name="m",
        tokenizer_json=Path("tokenizer.json"),
        config=config,
        tokenizer_config=tokenizer_config or {},
        generation_config={},
        chat_template=None,
        special_tokens={},
        weights=None,
    )


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        # vLLM's `_get_and_verify_max_len`: yarn counts from the original length, llama3 is counted already.
        ({"max_position_embeddings": 4096}, 4096),
        (
            {
                "max_position_embeddings": 131072,
                "rope_scaling": {
                    "rope_type": "yarn",
                    "factor": 4.0,
                    "original_max_position_embeddings": 32768,
                },
            },
            131072,
        ),
        ({"max_position_embeddings": 2048, "rope_scaling": {"type": "linear", "factor": 2.0}}, 4096),
        ({"max_position_embeddings": 131072, "rope_scaling": {"rope_type": "llama3", "factor": 8.0}}, 131072),
        ({"text_config": {"max_position_embeddings": 1024}}, 1024),
        ({}, 2048),
    ],
)
def test_context_of_a_configuration(config: dict[str, Any], expected: int) -> None:
    assert context_length(model_files(config)) == expected


def test_the_tokenizers_limit_counts_too() -> None:
    assert context_length(model_files({"max_position_embeddings": 4096}, {"model_max_length": 1000})) == 1000
