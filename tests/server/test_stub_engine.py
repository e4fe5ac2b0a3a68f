"""What clients are told when the engine fails, refuses or says something unusual. The engine is a stub."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from dragoman.engine import (
    EngineDeadError,
    InvalidRequestError,
    QueueFullError,
    RankedLogprob,
    SamplingParams,
    TokenLogprob,
    TokenOutput,
)
from dragoman.engine.statistics import EngineStats
from dragoman.model import ModelOptions
from dragoman.server.app import build_app
from dragoman.server.options import ServerOptions
from dragoman.server.services import Services, load_services

GENERATE = "/inference/v1/generate"
BODY = {"token_ids": [504], "sampling_params": {"max_tokens": 4}}
FIRST = TokenOutput(index=0, token_ids=[1])
FAILED = TokenOutput(index=0, token_ids=[], finish_reason="error", error="out of memory", finished=True)
LAST = TokenOutput(index=0, token_ids=[2], finish_reason="length", finished=True)


class StubEngine:
    """Gives the outputs in turn; raises those that are exceptions."""

    def __init__(self, *outputs: TokenOutput | Exception, healthy: bool = True) -> None:
        self._outputs = outputs
        self.is_healthy = healthy
        self.stats = EngineStats()
        self.seen: list[tuple[str, SamplingParams, dict[str, Any]]] = []
        self.aborted: list[str] = []
        self.closed = 0

    async def generate(
        self, request_id: str, prompt_token_ids: list[int], params: SamplingParams, **options: Any
    ) -> AsyncGenerator[TokenOutput, None]:
        self.seen.append((request_id, params, options))
        try:
            for output in self._outputs:
                await asyncio.sleep(0)
                if isinstance(output, Exception):
                    raise output
                yield output
        finally:
            self.closed += 1

    def check(self, prompt_token_ids: list[int], params: SamplingParams) -> None:
        pass

    def abort(self, request_ids: list[str], *, index: int | None = None) -> None:
        self.aborted.extend(request_ids)


@pytest.fixture(scope="module")
def services(smollm2: Path) -> Services:
    model = ModelOptions(model="smollm2", served_model_names=("m",))
    return load_services(ServerOptions(mode="render", model=model, scale_out=True))


Ask = Callable[..., httpx.Response]


@pytest.fixture
def ask(services: Services) -> Ask:
    """Sends one request to a server with the stub."""

    def send(
        engine: StubEngine, method: str = "POST", path: str = GENERATE, **request: Any
    ) -> httpx.Response:
        options = dataclasses.replace(services.options, mode="tokens-only", enable_prompt_tokens_details=True)
        # The stub has what the routes use of an engine.
        app = build_app(dataclasses.replace(services, engine=engine, options=options))  # type: ignore[arg-type]

        async def exchange() -> httpx.Response:
            transport = httpx.ASGITransport(app)  # type: ignore[arg-type]
            async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
                return await client.request(method, path, **request)

        return asyncio.run(exchange())

    return send


def events(reply: httpx.Response) -> list[Any]:
    """The values of the events; `[DONE]` is itself."""
    lines = [line.removeprefix("data: ") for line in reply.text.splitlines() if line]
    return [line if line == "[DONE]" else json.loads(line) for line in lines]


@pytest.mark.parametrize(
    ("output", "status", "kind", "param"),
    [
        (FAILED, 500, "InternalServerError", None),
        (RuntimeError("secret of the engine"), 500, "InternalServerError", None),
        (InvalidRequestError("bias is bad", "logit_bias"), 400, "BadRequestError", "logit_bias"),
        (QueueFullError("full"), 429, "TooManyRequestsError", None),
        (EngineDeadError("gone"), 503, "ServiceUnavailableError", None),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_a_failure_before_the_first_token_is_an_error_status(
    output: TokenOutput | Exception, status: int, kind: str, param: str | None, stream: bool, ask: Ask
) -> None:
    engine = StubEngine(output)
    reply = ask(engine, json={**BODY, "stream": stream})
    assert reply.status_code == status
    error = reply.json()["error"]
    assert (error["type"], error["param"], error["code"]) == (kind, param, status)
    assert "secret" not in reply.text
    assert reply.headers.get("retry-after") == ("1" if status == 429 else None)
    assert engine.closed == 1


@pytest.mark.parametrize("output", [FAILED, RuntimeError("secret of the engine")])
def test_a_failure_after_the_first_token_is_an_event(output: TokenOutput | Exception, ask: Ask) -> None:
    reply = ask(StubEngine(FIRST, output), json={**BODY, "stream": True})
    assert reply.status_code == 200
    first, error, done = events(reply)
    assert first["choices"][0]["finish_reason"] is None
    assert error["error"]["code"] == 500
    assert done == "[DONE]"
    assert "secret" not in reply.text


def test_a_failure_after_the_first_token_without_a_stream(ask: Ask) -> None:
    assert ask(StubEngine(FIRST, FAILED), json=BODY).status_code == 500


@pytest.mark.parametrize(("healthy", "status"), [(True, 200), (False, 503)])
@pytest.mark.parametrize("path", ["/health", "/ping"])
def test_health_is_the_engines(healthy: bool, status: int, path: str, ask: Ask) -> None:
    assert ask(StubEngine(healthy=healthy), "GET", path).status_code == status


def test_logprobs_are_finite(ask: Ask) -> None:
    """-inf, for one from masked tokens, is no JSON (sgl-project/sglang#5984); vLLM's floor is -9999."""
    masked = float("-inf")
    entry = TokenLogprob(1, masked, 9, (RankedLogprob(1, masked, 9), RankedLogprob(5, -0.5, 1)))
    output = TokenOutput(
        index=0,
        token_ids=[1],
        logprobs=[entry],
        prompt_logprobs=[None, entry],
        finish_reason="length",
        finished=True,
    )
    body = {"token_ids": [504, 1], "sampling_params": {"max_tokens": 1, "logprobs": 2, "prompt_logprobs": 1}}
    reply = ask(StubEngine(output), json=body).json()
    content = reply["choices"][0]["logprobs"]["content"]
    assert content == [
        {
            "token_id": 1,
            "logprob": -9999.0,
            "rank": 9,
            "top_logprobs": [
                {"token_id": 1, "logprob": -9999.0, "rank": 9},
                {"token_id": 5, "logprob": -0.5, "rank": 1},
            ],
        }
    ]
    assert reply["prompt_logprobs"][1]["1"]["logprob"] == -9999.0


def test_weight_versions_are_spans(ask: Ask) -> None:
    outputs = [
        TokenOutput(index=0, token_ids=[1, 2], weight_version="a"),
        TokenOutput(index=0, token_ids=[3], weight_version="a"),
        TokenOutput(index=0, token_ids=[4], weight_version="b", finish_reason="length", finished=True),
    ]
    expected = [{"version": "a", "start": 0, "end": 3}, {"version": "b", "start": 3, "end": 4}]
    assert ask(StubEngine(*outputs), json=BODY).json()["choices"][0]["weight_versions"] == expected
    chunks = events(ask(StubEngine(*outputs), json={**BODY, "stream": True}))[:-1]
    spans = [chunk["choices"][0]["weight_versions"] for chunk in chunks]
    assert spans == [None, None, expected]


def test_cached_tokens_are_counted_where_that_was_asked_for(ask: Ask) -> None:
    reply = ask(StubEngine(dataclasses.replace(LAST, cached_tokens=16)), json=BODY).json()
    assert reply["usage"]["prompt_tokens_details"] == {"cached_tokens": 16}


def test_what_the_engine_gets(ask: Ask) -> None:
    engine = StubEngine(LAST)
    sampling = {"max_tokens": 3, "logit_bias": {"7": 2.5}, "stop_token_ids": [9], "top_k": -1, "seed": 4}
    ask(
        engine,
        json={
            "token_ids": [1],
            "sampling_params": sampling,
            "priority": 5,
            "cache_salt": "s",
            "request_id": "r",
        },
    )
    ((request_id, params, options),) = engine.seen
    assert request_id.startswith("generate-tokens-r")
    assert (params.max_tokens, params.logit_bias, params.stop_token_ids) == (3, {7: 2.5}, (9,))
    assert params.seed == 4
    assert options == {"priority": 5, "cache_salt": "s", "make_mask": None}


def test_requests_with_one_id_are_two_to_the_engine(services: Services) -> None:
    with services.running.entered("x") as first, services.running.entered("x", "y") as second:
        assert first != second
        assert services.running.abort(["x", "nobody"]) == sorted([first.engine_id, second.engine_id])
        assert (first.aborted, second.aborted) == (True, True)
        assert services.running.abort(["y"]) == [second.engine_id]
    assert services.running.abort(["x", "y"]) == []


@pytest.mark.parametrize("ids", [["mine"], "mine"], ids=["list", "one id"])
def test_an_abort_while_the_grammar_compiles_is_kept(services: Services, ids: object) -> None:
    """The engine never sees the request: its caller gets the answer of an aborted one."""
    engine = StubEngine(FIRST, LAST)

    class SlowGrammars:
        """Compiles until it is told to stop."""

        def __init__(self) -> None:
            self.begun, self.done = asyncio.Event(), asyncio.Event()

        async def mask_maker(self, *_: object) -> None:
            self.begun.set()
            await self.done.wait()

        def close(self) -> None:
            pass

    async def exchange() -> httpx.Response:
        grammars = SlowGrammars()
        options = dataclasses.replace(services.options, mode="tokens-only")
        parts: dict[str, Any] = {"engine": engine, "options": options, "grammars": grammars}
        app = build_app(dataclasses.replace(services, **parts))
        transport = httpx.ASGITransport(app)  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            params = {"max_tokens": 4, "n": 2, "structured_outputs": {"regex": "a+"}}
            body = {"token_ids": [504], "request_id": "mine", "sampling_params": params}
            answer = asyncio.ensure_future(client.post(GENERATE, json=body))
            await grammars.begun.wait()
            reply = await client.post("/inference/v1/abort_requests", json={"request_ids": ids})
            assert reply.status_code == 200
            grammars.done.set()
            return await answer

    reply = asyncio.run(exchange())
    assert reply.status_code == 200, reply.text
    assert [choice["finish_reason"] for choice in reply.json()["choices"]] == ["abort", "abort"]
    assert engine.seen == []
