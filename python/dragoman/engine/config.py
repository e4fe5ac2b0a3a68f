"""How an engine is set up."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Device = Literal["auto", "cpu", "cuda"]
PauseMode = Literal["abort", "wait", "keep"]
DataType = Literal["auto", "bfloat16", "float16", "float32"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineConfig:
    """Settings of one engine; names are those of vLLM's flags.

    ``model`` is a GGUF file or a directory with ``config.json`` and safetensors files.
    ``max_model_len`` ``None`` means what the model was trained for. ``kv_cache_memory_bytes`` sets the cache
    size outright; without it a GPU gives ``gpu_memory_utilization`` of its memory less what the weights and
    one full step take, and a CPU gives room for ``max_num_seqs`` sequences of ``max_model_len`` tokens but at
    most 4 GiB and a quarter of the memory that is free. ``enforce_eager`` captures no CUDA graphs.
    ``max_num_batched_tokens`` bounds the tokens of one step, ``max_num_seqs`` the running sequences,
    ``max_num_queued_reqs`` (``None``: no bound) those that run or wait, each choice of a request counted.
    ``max_logprobs`` bounds the alternatives of a token, -1 for no bound.
    ``cpu_threads`` are torch's, at most one per core. ``seed`` seeds the requests that bring no seed of their
    own; ``None`` takes the system's randomness.
    """

    model: str | Path
    device: Device = "auto"
    dtype: DataType = "auto"
    max_model_len: int | None = None
    max_num_seqs: int = 64
    max_num_batched_tokens: int = 2048
    block_size: int = 16
    kv_cache_memory_bytes: int | None = None
    gpu_memory_utilization: float = 0.9
    enable_prefix_caching: bool = True
    max_num_queued_reqs: int | None = None
    max_logprobs: int = 20
    cpu_threads: int | None = None
    enforce_eager: bool = False
    seed: int | None = None

    def __post_init__(self) -> None:
        positive = ("max_num_seqs", "max_num_batched_tokens", "block_size")
        optional = ("max_model_len", "kv_cache_memory_bytes", "max_num_queued_reqs", "cpu_threads")
        for name in positive + optional:
            value = getattr(self, name)
            if value is None and name in optional:
                continue
            if value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")
        cores = os.cpu_count()
        if self.cpu_threads is not None and cores is not None and self.cpu_threads > cores:
            raise ValueError(
                f"cpu_threads must be at most {cores}, the machine's cores, got {self.cpu_threads}"
            )
        if self.max_num_batched_tokens < self.max_num_seqs:
            raise ValueError(
                f"max_num_batched_tokens={self.max_num_batched_tokens} must be at least "
                f"max_num_seqs={self.max_num_seqs}: every running sequence needs one token per step"
            )
        if not 0.0 < self.gpu_memory_utilization <= 1.0:
            raise ValueError(f"gpu_memory_utilization must be in (0, 1], got {self.gpu_memory_utilization}")
