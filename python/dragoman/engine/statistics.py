"""Counters that the server turns into metrics."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

STEP_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Seconds: a decoding step on a GPU takes a few milliseconds, a prompt on a CPU a few seconds."""


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many values fell up to each of the ``bounds`` and above the one before, then those above them all."""

    bounds: tuple[float, ...]
    counts: tuple[int, ...]
    total: float

    @property
    def count(self) -> int:
        return sum(self.counts)


class Observations:
    """Counts values for a :class:`Histogram`."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._total = 0.0

    def observe(self, value: float) -> None:
        self._counts[bisect_left(self._bounds, value)] += 1
        self._total += value

    def histogram(self) -> Histogram:
        return Histogram(self._bounds, tuple(self._counts), self._total)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineStats:
    """A snapshot. Counts only grow; ``running``, ``waiting`` and ``kv_cache_usage`` (0 to 1) are of now.

    ``step_seconds`` are the times that steps took; the prefix counts are in tokens. ``rejections`` are requests
    that the queue had no room for.
    """

    running: int = 0
    waiting: int = 0
    kv_cache_usage: float = 0.0
    preemptions: int = 0
    prefix_cache_queries: int = 0
    prefix_cache_hits: int = 0
    prompt_tokens: int = 0
    generation_tokens: int = 0
    step_seconds: Histogram = field(default_factory=Observations(STEP_BOUNDS).histogram)
    failed_steps: int = 0
    rejections: int = 0
