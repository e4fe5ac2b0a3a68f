"""Counters that the server turns into metrics."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineStats:
    """A snapshot. Counts only grow; ``running``, ``waiting`` and ``kv_cache_usage`` (0 to 1) are of now.

    ``step_seconds`` is the time spent in steps; the prefix counts are in tokens.
    """

    running: int = 0
    waiting: int = 0
    kv_cache_usage: float = 0.0
    preemptions: int = 0
    prefix_cache_queries: int = 0
    prefix_cache_hits: int = 0
    prompt_tokens: int = 0
    generation_tokens: int = 0
    steps: int = 0
    step_seconds: float = 0.0
    failed_steps: int = 0
