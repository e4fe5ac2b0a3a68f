"""What the engine counts, as Prometheus metrics; the names are vLLM's where they mean the same."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
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
        rejections = CounterMetricFamily(
            "vllm:admission_rejections", "Requests that the queue had no room for", labels=("reason",)
        )
        rejections.add_metric(("max_num_queued_reqs",), stats.rejections)
        yield rejections
        steps = stats.step_seconds
        bounds = [*(str(bound) for bound in steps.bounds), "+Inf"]
        yield HistogramMetricFamily(
            "dragoman:engine_step_seconds",
            "Time that a step of the engine took",
            buckets=list(zip(bounds, itertools.accumulate(steps.counts), strict=True)),
            sum_value=steps.total,
        )
