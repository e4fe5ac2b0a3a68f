"""The model runner on a GPU: how near it comes to what the device can do.

    python benches/gpu.py            # at most 8 minutes on one CUDA device
    python benches/gpu.py --small    # a tiny model; what runs where there is no CUDA device

Needs torch and this package's sources, nothing else: models of Qwen3-0.6B's and Llama-3.2-1B's shape with random
weights. Prints, for each:

* decode: tokens per second at batch 1, 8, 64 and 256, with captured graphs and eagerly, and the time of a step
  that the device spends waiting for the host;
* at batch 1 the share of the memory-bandwidth limit: bytes of weights and cached keys and values that a token
  must read, over the measured copy bandwidth;
* prefill of 8,192 ids: tokens per second, and the share of the measured bf16 matmul rate.

A measurement that the device has too little memory for, or that would begin after --seconds, is left out with a
line that says so.
"""

from __future__ import annotations

import argparse
import functools
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from dragoman.engine.attention.graphs import Record, capture
from dragoman.engine.attention.paged import PagedAttention
from dragoman.engine.models import family_of
from dragoman.engine.models.blocks import Decoder
from dragoman.engine.models.configure import configure
from dragoman.engine.params import SamplingParams
from dragoman.engine.runner import ModelRunner
from dragoman.engine.scheduler import ScheduledSequence, Step
from dragoman.engine.sequence import Request, Sequence

Result = TypeVar("Result")

BLOCK_SIZE = 16
SECONDS = 7 * 60.0
"""After this no measurement begins; each takes less than the minute that is left of eight."""

SHAPES: dict[str, dict[str, Any]] = {
    "Qwen3-0.6B": {
        "model_type": "qwen3",
        "vocab_size": 151936,
        "hidden_size": 1024,
        "intermediate_size": 3072,
        "num_hidden_layers": 28,
        "num_attention_heads": 16,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "max_position_embeddings": 40960,
        "rope_theta": 1000000.0,
        "tie_word_embeddings": True,
    },
    "Llama-3.2-1B": {
        "model_type": "llama",
        "vocab_size": 128256,
        "hidden_size": 2048,
        "intermediate_size": 8192,
        "num_hidden_layers": 16,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 64,
        "max_position_embeddings": 131072,
        "rope_theta": 500000.0,
        "tie_word_embeddings": True,
    },
}
TINY: dict[str, Any] = {
    "vocab_size": 512,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
}


@dataclass(frozen=True)
class Sizes:
    """How much is run; ``copy_bytes`` and ``square`` size the measurements of the device itself."""

    batches: tuple[int, ...]
    context: int
    steps: int
    prefill: int
    copy_bytes: int
    square: int


FULL = Sizes(batches=(1, 8, 64, 256), context=512, steps=64, prefill=8192, copy_bytes=4 << 30, square=8192)
SMALL = Sizes(batches=(1, 4), context=32, steps=4, prefill=128, copy_bytes=1 << 22, square=128)


class RandomWeights:
    """Every weight that an architecture may ask for, small and random; no biases, no fused projections."""

    def __init__(self, keys: dict[str, Any], device: torch.device, dtype: torch.dtype) -> None:
        hidden, inner, head = keys["hidden_size"], keys["intermediate_size"], keys["head_dim"]
        queries, values = head * keys["num_attention_heads"], head * keys["num_key_value_heads"]
        self._shapes = {
            "embed_tokens": (keys["vocab_size"], hidden),
            "q_proj": (queries, hidden),
            "k_proj": (values, hidden),
            "v_proj": (values, hidden),
            "o_proj": (hidden, queries),
            "gate_proj": (inner, hidden),
            "up_proj": (inner, hidden),
            "down_proj": (hidden, inner),
        }
        self._norms = {"q_norm": head, "k_norm": head}
        self._hidden = hidden
        self._device = device
        self._dtype = dtype

    def find(self, name: str) -> Tensor | None:
        shape = self._shapes.get(name.split(".")[-2])
        if shape is None or name.endswith(".bias"):
            return None
        return torch.randn(shape, device=self._device, dtype=self._dtype) * 0.02

    def get(self, name: str) -> Tensor:
        weight = self.find(name)
        if weight is None:
            raise KeyError(name)
        return weight

    def norm(self, name: str) -> Tensor:
        size = self._norms.get(name.split(".")[-2], self._hidden)
        return torch.ones(size, device=self._device, dtype=self._dtype)

    def rope_factors(self) -> Tensor | None:
        return None


class Bench:
    """One model on one device."""

    def __init__(self, keys: dict[str, Any], sizes: Sizes, device: torch.device) -> None:
        self.sizes = sizes
        self.device = device
        longest = max(sizes.prefill, sizes.context + 4 * sizes.steps) + 1
        family = family_of(keys["model_type"])
        config = configure(family, keys, eos_token_ids=(), max_model_len=longest)
        self.model = Decoder(config, family.layout, RandomWeights(keys, device, torch.bfloat16))
        self.recorder: Callable[[], Record] = capture if device.type == "cuda" else lambda: lambda work: work
        weights = [
            layer_weight
            for layer in self.model.layers
            for layer_weight in (layer.qkv, layer.out, layer.gate_up, layer.down)
        ]
        self.parameters = sum(weight.in_features * weight.out_features for weight in weights)
        """Of the layers: what every token is multiplied with in prefill."""
        self.head_parameters = config.vocab_size * config.hidden_size
        self.cache_bytes = 2 * config.num_layers * config.num_kv_heads * config.head_dim * 2
        """Keys and values of one position."""

    def cache(self, sequences: list[Sequence]) -> PagedAttention:
        blocks = sum(len(sequence.block_ids) for sequence in sequences)
        return PagedAttention(self.model.config, blocks, BLOCK_SIZE, self.device, torch.bfloat16)

    def sequences(self, count: int, length: int, room: int) -> list[Sequence]:
        """``count`` sequences of ``length`` ids with blocks for ``room`` more."""
        vocabulary = self.model.config.vocab_size
        width = -(-(length + room) // BLOCK_SIZE)
        made = []
        for number in range(count):
            prompt = [(7 * number + 13 * place) % vocabulary for place in range(length)]
            params = SamplingParams(temperature=0.0, ignore_eos=True)
            request = Request(str(number), prompt, params, lambda _: None, room, 0, number)
            sequence = request.make_sequences()[0]
            sequence.block_ids = list(range(number * width, (number + 1) * width))
            made.append(sequence)
        return made

    def decode(self, batch: int, *, graphs: bool) -> tuple[float, float]:
        """Seconds of a step as the host sees it, and of its work on the device alone (the same on a CPU)."""
        sequences = self.sequences(batch, self.sizes.context, 4 * self.sizes.steps)
        runner = ModelRunner(
            self.model,
            self.cache(sequences),
            max_num_seqs=batch,
            recorder=self.recorder if graphs else None,
        )

        def step() -> None:
            scheduled = [ScheduledSequence(sequence, len(sequence) - 1, 1) for sequence in sequences]
            result = runner.run(Step(scheduled))
            for sequence, token in zip(result.sequences, result.tokens, strict=True):
                sequence.append(token)

        for _ in range(3):
            step()
        began = time.perf_counter()
        for _ in range(self.sizes.steps):
            step()
        seen = (time.perf_counter() - began) / self.sizes.steps
        return seen, self._busy(step)

    def _busy(self, step: Callable[[], None]) -> float:
        """Seconds that the device works in a step, as its profiler sums them up."""
        if self.device.type != "cuda":
            began = time.perf_counter()
            step()
            return time.perf_counter() - began
        repeats = 5
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
            for _ in range(repeats):
                step()
            torch.cuda.synchronize()
        return sum(event.self_device_time_total for event in profile.key_averages()) * 1e-6 / repeats

    def prefill(self) -> float:
        """Seconds to read one prompt and choose the first token."""
        sequences = self.sequences(1, self.sizes.prefill, 1)
        runner = ModelRunner(self.model, self.cache(sequences))
        step = Step([ScheduledSequence(sequences[0], 0, self.sizes.prefill)])
        return best(lambda: runner.run(step), self.device, repeats=5)


def best(work: Callable[[], Any], device: torch.device, repeats: int) -> float:
    """Seconds of the fastest of several runs, after one to warm up."""
    seconds = []
    for _ in range(repeats + 1):
        wait(device)
        began = time.perf_counter()
        work()
        wait(device)
        seconds.append(time.perf_counter() - began)
    return min(seconds[1:])


def wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def copy_bandwidth(sizes: Sizes, device: torch.device) -> float:
    """Bytes per second, read and written both counted."""
    size = sizes.copy_bytes
    if device.type == "cuda":
        size = min(size, torch.cuda.mem_get_info(device)[0] // 4)
    source = torch.zeros(size, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    return 2 * size / best(lambda: target.copy_(source), device, repeats=10)


def matmul_rate(sizes: Sizes, device: torch.device) -> float:
    """Operations per second of a square product in bf16, a multiplication and an addition counted as two."""
    square = torch.randn((sizes.square, sizes.square), device=device, dtype=torch.bfloat16)
    return 2 * sizes.square**3 / best(lambda: square @ square, device, repeats=10)


def attempt(what: str, work: Callable[[], Result], deadline: float) -> Result | None:
    """What ``work`` gives; nothing, and a line that says why, where time or memory is short."""
    if time.monotonic() > deadline:
        print(f"  {what}: left out, the time is up")
        return None
    try:
        return work()
    except torch.OutOfMemoryError:
        print(f"  {what}: left out, the device has too little memory")
    torch.cuda.empty_cache()
    return None


def measure(name: str, bench: Bench, bandwidth: float, rate: float, deadline: float) -> dict[str, Any]:
    """Print one model's figures, and give them."""
    sizes = bench.sizes
    figures: dict[str, Any] = {"model": name, "decode": []}
    print(f"{name}: {(bench.parameters + bench.head_parameters) / 1e6:.0f} M parameters")
    seconds = attempt(f"prefill of {sizes.prefill} ids", bench.prefill, deadline)
    if seconds is not None:
        config = bench.model.config
        # Two operations per parameter and id; queries by keys and weights by values over the causal half.
        attention = 2 * config.num_layers * config.num_heads * config.head_dim * sizes.prefill**2
        operations = 2 * bench.parameters * sizes.prefill + 2 * bench.head_parameters + attention
        figures["prefill"] = {
            "tokens_per_second": sizes.prefill / seconds,
            "matmul_share": operations / seconds / rate,
        }
        print(
            f"  prefill of {sizes.prefill} ids: {sizes.prefill / seconds:.0f} ids/s, "
            f"{100 * figures['prefill']['matmul_share']:.1f}% of the matmul rate"
        )
    for batch in sizes.batches:
        for graphs in (True, False):
            what = f"decode, batch {batch:>3}, {'graphs' if graphs else 'eager '}"
            times = attempt(what, functools.partial(bench.decode, batch, graphs=graphs), deadline)
            if times is None:
                continue
            seen, busy = times
            line = {
                "batch": batch,
                "graphs": graphs,
                "tokens_per_second": batch / seen,
                "host_seconds_per_step": max(seen - busy, 0.0),
            }
            read = 2 * (bench.parameters + bench.head_parameters)
            read += batch * bench.cache_bytes * (sizes.context + sizes.steps // 2)
            line["bandwidth_share"] = read / bandwidth / seen
            figures["decode"].append(line)
            print(
                f"  {what}: "
                f"{line['tokens_per_second']:>9.0f} ids/s, {100 * line['bandwidth_share']:>5.1f}% of the "
                f"bandwidth limit, host adds {1e6 * line['host_seconds_per_step']:>6.0f} µs per step"
            )
    return figures


@torch.inference_mode()
def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--small", action="store_true", help="tiny shapes, as without a CUDA device")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    parser.add_argument(
        "--seconds", type=float, default=SECONDS, metavar="N", help="begin no measurement after them"
    )
    options = parser.parse_args(arguments)
    deadline = time.monotonic() + options.seconds
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    small = options.small or device.type == "cpu"
    sizes = SMALL if small else FULL
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name() if device.type == 'cuda' else 'CPU'}")
    bandwidth, rate = copy_bandwidth(sizes, device), matmul_rate(sizes, device)
    print(f"copy bandwidth {bandwidth / 1e9:.0f} GB/s, bf16 matmul {rate / 1e12:.2f} TFLOP/s")
    found = []
    for name, shape in SHAPES.items():
        keys = {**shape, **TINY} if small else shape
        bench = attempt(name, functools.partial(Bench, keys, sizes, device), deadline)
        if bench is not None:
            found.append(measure(name, bench, bandwidth, rate, deadline))
        del bench
        torch.cuda.empty_cache()
    if options.json is not None:
        report = {"bandwidth": bandwidth, "matmul_rate": rate, "models": found}
        options.json.write_text(json.dumps(report, indent=2), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
