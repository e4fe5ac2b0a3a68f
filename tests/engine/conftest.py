"""The models that the engine's tests run on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="the engine extra (torch) is not installed")

import torch

from dragoman.engine import Engine, EngineConfig

from .engines import build

SHARED = Path(__file__).resolve().parents[3] / "shared"
CACHED_MODELS = Path.home() / ".cache" / "dragoman" / "models"


def find_model(name: str, variable: str) -> Path | None:
    """The GGUF file of a model: where the environment variable says, or in the cache."""
    named = os.environ.get(variable)
    if named:
        return Path(named)
    return next(iter(sorted((CACHED_MODELS / name).glob("*.gguf"))), None)


@pytest.fixture(scope="session")
def gguf_path() -> Path:
    path = find_model("smollm2", "DRAGOMAN_TEST_GGUF")
    if path is None or not path.is_file():
        pytest.skip("no SmolLM2 GGUF file: run `dragoman fetch smollm2` or set DRAGOMAN_TEST_GGUF")
    return path


@pytest.fixture(scope="session")
def smollm2(gguf_path: Path) -> Iterator[Engine]:
    """SmolLM2-135M-Instruct as the reference answers were made: bf16 on a CPU, 4,096 positions."""
    engine = Engine(
        EngineConfig(
            model=gguf_path,
            device="cpu",
            dtype="bfloat16",
            max_model_len=4096,
            kv_cache_memory_bytes=400 << 20,
        )
    )
    engine.start()
    yield engine
    engine.shutdown()


TINY_LLAMA: dict[str, Any] = {
    "vocab_size": 256,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "eos_token_id": 2,
    "bos_token_id": 1,
    "pad_token_id": 0,
}


@pytest.fixture(scope="session")
def tiny_llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Llama with random weights, saved by transformers."""
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    torch.manual_seed(7)
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**TINY_LLAMA, initializer_range=0.2))
    directory = tmp_path_factory.mktemp("tiny-llama")
    model.save_pretrained(directory)
    return directory


@pytest.fixture(scope="module")
def engine(tiny_llama: Path) -> Iterator[Engine]:
    """An engine of that model, for the tests of one file."""
    engine = build(tiny_llama)
    engine.start()
    yield engine
    engine.shutdown()
