"""Prometheus metrics of the HTTP side: requests by route and status, and how long clients wait."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)

from dragoman.server.asgi import Application, Message, Receive, Scope, Send, route_path
from dragoman.server.errors import ApiError, ClientGoneError, describe, send_error
from dragoman.server.generation_metrics import GenerationMetrics

BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
RENDER_BUCKETS = (
    0.0001,
    0.00025,
    0.0005,
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
)
# Paths that are not routes share one label: their number is up to the clients.
OTHER = "other"
# Streams and their count of open requests are followed on these.
GENERATING = frozenset({"/inference/v1/generate", "/v1/chat/completions", "/v1/completions"})


class Metrics:
    """The metrics of one server, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "http_requests_total",
            "Requests answered",
            ("method", "handler", "status"),
            registry=self.registry,
        )
        self.duration = Histogram(
            "http_request_duration_seconds",
            "Time from the first byte of a request to the last byte of its answer",
            ("handler",),
            buckets=BUCKETS,
            registry=self.registry,
        )
        self.rendering = Histogram(
            "vllm:request_render_duration_seconds",
            "Time spent rendering a request: chat templating, tokenization",
            ("model_name", "request_type"),
            buckets=RENDER_BUCKETS,
            registry=self.registry,
        )
        # CPU seconds, memory and open files of this process.
        ProcessCollector(registry=self.registry)
        self.open = Gauge(
            "dragoman:server_load", "Generating requests that are being served", registry=self.registry
        )
        self.generation = GenerationMetrics(self.registry)
        self.template_fallback = Gauge(
            "dragoman:template_fallback",
            "1 where the chat template is rendered by jinja2, which is slower",
            registry=self.registry,
        )
        self.load = 0

    def timed(self, model: str, request_type: str, render: Callable[..., bytes]) -> Callable[..., bytes]:
        """A method that renders, with its time observed where it succeeds."""
        seconds = self.rendering.labels(model, request_type)

        def measured(*arguments: Any) -> bytes:
            begin = time.perf_counter()
            rendered = render(*arguments)
            seconds.observe(time.perf_counter() - begin)
            return rendered

        return measured

    def page(self) -> bytes:
        """The text that Prometheus reads."""
        return generate_latest(self.registry)


class Observer:
    """Counts and times each request, and answers for what no one else caught."""

    def __init__(self, app: Application, metrics: Metrics, routes: frozenset[str]) -> None:
        self._app = app
        self._metrics = metrics
        self._routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = route_path(scope)
        handler = path if path in self._routes else OTHER
        generating = handler in GENERATING
        status = 0

        async def watched_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        metrics = self._metrics
        begin = time.perf_counter()
        if generating:
            metrics.load += 1
            metrics.open.set(metrics.load)
        try:
            await self._app(scope, receive, watched_send)
        except ClientGoneError:
            pass
        except Exception as error:
            told = describe(error)
            # After the first byte no other answer can be given; closing tells the client.
            if status == 0:
                await send_error(scope, watched_send, ApiError(told.kind, told.message, told.param))
            else:
                raise
        finally:
            if generating:
                metrics.load -= 1
                metrics.open.set(metrics.load)
            metrics.requests.labels(scope["method"], handler, str(status)).inc()
            metrics.duration.labels(handler).observe(time.perf_counter() - begin)
