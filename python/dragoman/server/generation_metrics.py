"""How long generating requests wait and run, as histograms; the names are vLLM's."""

from __future__ import annotations

import time

from prometheus_client import CollectorRegistry, Counter, Histogram

from dragoman.engine import TokenOutput

BUCKETS = (
    *(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0),
)


class GenerationMetrics:
    """The histograms of one server."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def histogram(name: str, text: str) -> Histogram:
            return Histogram(f"vllm:{name}", text, buckets=BUCKETS, registry=registry)

        self.queue = histogram(
            "request_queue_time_seconds", "Time from a request's arrival at the engine to its first step"
        )
        self.first_token = histogram(
            "time_to_first_token_seconds", "Time from a request's arrival at the engine to its first token"
        )
        self.token_gap = histogram(
            "inter_token_latency_seconds", "Time between two outputs of a request's choice"
        )
        self.per_token = histogram(
            "request_time_per_output_token_seconds", "Mean time of the tokens of a choice after its first"
        )
        self.whole = histogram(
            "e2e_request_latency_seconds", "Time from a request's arrival at the engine to its last token"
        )
        self.finished = Counter(
            "vllm:request_success", "Choices that ended, by reason", ("finished_reason",), registry=registry
        )


class RequestTimer:
    """Observes the outputs of one request."""

    def __init__(self, metrics: GenerationMetrics) -> None:
        self._metrics = metrics
        self._begin = time.perf_counter()
        # Choice -> when its first and its last output came, and its tokens so far.
        self._choices: dict[int, tuple[float, float, int]] = {}

    def output(self, output: TokenOutput) -> None:
        """Takes in an output as it comes."""
        now = time.perf_counter()
        metrics = self._metrics
        if not self._choices and output.token_ids:
            metrics.first_token.observe(now - self._begin)
            if output.queue_seconds is not None:
                metrics.queue.observe(output.queue_seconds)
        known = self._choices.get(output.index)
        if known is not None and output.token_ids:
            metrics.token_gap.observe(now - known[1])
        first, last, tokens = known or (now, now, 0)
        if output.token_ids:
            last, tokens = now, tokens + len(output.token_ids)
            self._choices[output.index] = (first, last, tokens)
        if output.finish_reason is not None:
            metrics.finished.labels(output.finish_reason).inc()
            if tokens > 1:
                metrics.per_token.observe((last - first) / (tokens - 1))

    def end(self) -> None:
        """The request is over."""
        self._metrics.whole.observe(time.perf_counter() - self._begin)
