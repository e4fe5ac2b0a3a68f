"""What clients see of an engine whose loop hangs, dies or fails, and what the metrics page says of requests."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from dragoman.engine import Engine
from dragoman.engine import engine as engine_module
from dragoman.model import ModelOptions
from dragoman.server.options import ServerOptions
from dragoman.server.services import Services, load_services
from tests.engine.conftest import tiny_llama  # noqa: F401
from tests.engine.engines import build
from tests.server.running_app import running

GENERATE = "/inference/v1/generate"
BODY = {"token_ids": [5, 17, 99], "sampling_params": {"max_tokens": 4, "ignore_eos": True, "temperature": 0}}


@pytest.fixture
def engine(tiny_llama: Path) -> Engine:  # noqa: F811
    return build(tiny_llama)


@pytest.fixture
def client(smollm2: Path, engine: Engine) -> Iterator[httpx.Client]:
    model = ModelOptions(model="smollm2", served_model_names=("m",))
    services: Services = load_services(ServerOptions(mode="render", model=model, scale_out=True))
    options = dataclasses.replace(services.options, mode="tokens-only")
    with running(dataclasses.replace(services, engine=engine, options=options)) as client:
        yield client


def status(client: httpx.Client, **changed: Any) -> int:
    return client.post(GENERATE, json={**BODY, **changed}).status_code


def test_a_step_that_hangs(client: httpx.Client, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "STUCK_AFTER_SECONDS", 0.2)
    good = engine._loop._runner.run
    entered, release = threading.Event(), threading.Event()

    def hang(step: Any) -> Any:
        entered.set()
        assert release.wait(30)
        return good(step)

    monkeypatch.setattr(engine._loop._runner, "run", hang)
    found: list[int] = []

    def ask() -> None:
        with httpx.Client(base_url=client.base_url, timeout=30) as own:
            found.append(status(own))

    asking = threading.Thread(target=ask)
    assert client.get("/health").status_code == 200
    asking.start()
    assert entered.wait(30)
    release.wait(0.4)
    assert client.get("/health").status_code == client.get("/ping").status_code == 503
    release.set()
    asking.join(30)
    assert found == [200]
    assert client.get("/health").status_code == 200


@pytest.mark.parametrize("stream", [False, True])
def test_a_loop_that_dies(
    stream: bool, client: httpx.Client, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever waits is told at once; the next one hears that there is no engine."""

    def die(step: Any) -> Any:
        raise SystemExit("killed")

    monkeypatch.setattr(engine._loop._runner, "run", die)
    assert status(client, stream=stream) == 503
    assert client.get("/health").status_code == 503
    assert status(client, stream=stream) == 503


def test_a_step_that_fails(client: httpx.Client, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    good = engine._loop._runner.run

    def fail(step: Any) -> Any:
        raise ValueError("a kernel said no")

    monkeypatch.setattr(engine._loop._runner, "run", fail)
    assert status(client) == 500
    monkeypatch.setattr(engine._loop._runner, "run", good)
    assert status(client) == 200
    assert client.get("/health").status_code == 200


def value(page: str, name: str) -> float:
    """The sum of a metric over its labels."""
    lines = [line for line in page.splitlines() if line.startswith((f"{name} ", f"{name}{{"))]
    assert lines, name
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines)


def test_the_times_of_requests(client: httpx.Client) -> None:
    """Names and meanings are those of vLLM's metrics."""
    assert status(client) == 200
    two = {"sampling_params": {"n": 2, "max_tokens": 4, "ignore_eos": True}}
    assert status(client, **two) == 200
    assert status(client, **two, stream=True) == 200
    page = client.get("/metrics").text
    counts = {
        "vllm:time_to_first_token_seconds_count": 3,
        "vllm:request_queue_time_seconds_count": 3,
        "vllm:e2e_request_latency_seconds_count": 3,
        # Five choices of four tokens.
        "vllm:inter_token_latency_seconds_count": 15,
        "vllm:request_time_per_output_token_seconds_count": 5,
        "vllm:request_success_total": 5,
    }
    assert {name: value(page, name) for name in counts} == counts
    assert 'vllm:request_success_total{finished_reason="length"} 5.0' in page
    first = value(page, "vllm:time_to_first_token_seconds_sum")
    whole = value(page, "vllm:e2e_request_latency_seconds_sum")
    assert 0 <= value(page, "vllm:request_queue_time_seconds_sum") <= first <= whole
    gaps = value(page, "vllm:inter_token_latency_seconds_sum")
    assert value(page, "vllm:request_time_per_output_token_seconds_sum") == pytest.approx(gaps / 3)
