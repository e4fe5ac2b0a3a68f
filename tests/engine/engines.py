"""Engines of tiny random models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dragoman.engine import Engine, EngineConfig, SamplingParams

PROMPT = [5, 17, 99, 3, 200, 41, 8, 77]
LONG = SamplingParams(temperature=0.0, ignore_eos=True)


def build(path: Path, **settings: Any) -> Engine:
    defaults: dict[str, Any] = {
        "device": "cpu",
        "dtype": "float32",
        "kv_cache_memory_bytes": 8 << 20,
        "seed": 1,
    }
    return Engine(EngineConfig(model=path, **(defaults | settings)))


def all_blocks_free(engine: Engine) -> bool:
    return engine.call(lambda: engine.stats).result().kv_cache_usage == 0.0
