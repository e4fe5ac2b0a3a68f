"""What the engine counts, as Prometheus metrics; the names are vLLM's where they mean the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from dragoman.engine.statistics import EngineStats

# Field of EngineStats -> name and help.
GAUGES = {
    "running": ("vllm:num_requests_running", "Sequences in the running batch"),
    "waiting": ("vllm:num_requests_waiting", "Sequences that wait for room"),
    "kv_cache_usage": ("vllm:kv_cache_usage_perc", "Share of the KV cache in use, 1 is all of it"),
}
COUNTERS = {
    "preemptions": ("vllm:num_preemptions", "Sequences put back for want of room"),
    "prefix_cache_queries": ("vllm:prefix_cache_queries", "Prompt tokens looked up in the prefix cache"),
    "prefix_cache_hits": ("vllm:prefix_cache_hits", "Prompt tokens found in the prefix cache"),
    "prompt_tokens": ("vllm:prompt_tokens", "Prompt tokens computed"),
    "generation_tokens": ("vllm:generation_tokens", "Tokens generated"),
    "steps": ("dragoman:engine_steps", "Steps of the engine"),
    "step_seconds": ("dragoman:engine_step_seconds", "Time spent in steps"),
    "failed_steps": ("dragoman:engine_failed_steps", "Steps that raised"),
}


class EngineCollector(Collector):
    """Reads the engine's snapshot when the page is asked for."""

    def __init__(self, stats: Callable[[], EngineStats]) -> None:
        self._stats = stats

    def collect(self) -> Iterable[Metric]:
        """The metrics of now."""
        stats = self._stats()
        for field, (name, text) in GAUGES.items():
            yield GaugeMetricFamily(name, text, value=getattr(stats, field))
        for field, (name, text) in COUNTERS.items():
            yield CounterMetricFamily(name, text, value=getattr(stats, field))
