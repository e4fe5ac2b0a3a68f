"""The routes that orchestrators ask, and what the servers say of themselves."""

from __future__ import annotations

import time

import httpx
import pytest

import dragoman
from dragoman.cli.server_process import ServerProcess

RAW_ROUTES = {
    "/v1/chat/completions/render",
    "/v1/completions/render",
    "/v1/messages/render",
    "/v1/responses/render",
    "/v1/chat/completions/derender",
    "/v1/completions/derender",
    "/tokenize",
    "/detokenize",
}


@pytest.mark.parametrize(("method", "path"), [("GET", "/health"), ("GET", "/ping"), ("POST", "/ping")])
def test_life_signs(method: str, path: str, render_client: httpx.Client, engine_client: httpx.Client) -> None:
    for client in (render_client, engine_client):
        reply = client.request(method, path)
        assert (reply.status_code, reply.content) == (200, b"")


def test_version(render_client: httpx.Client) -> None:
    assert render_client.get("/version").json() == {"version": dragoman.__version__}


def test_openapi_shows_the_raw_routes(render_client: httpx.Client, engine_client: httpx.Client) -> None:
    page = render_client.get("/openapi.json").json()
    assert set(page["paths"]) >= RAW_ROUTES | {"/v1/models", "/health", "/version"}
    assert "/inference/v1/generate" not in page["paths"]
    assert "/inference/v1/generate" in engine_client.get("/openapi.json").json()["paths"]
    # A second look gives the same page.
    assert render_client.get("/openapi.json").json() == page


def test_docs(render_client: httpx.Client) -> None:
    reply = render_client.get("/docs")
    assert reply.status_code == 200
    assert "/openapi.json" in reply.text


def test_metrics_count_requests_by_route(render_client: httpx.Client) -> None:
    def counted(handler: str, status: int) -> float:
        page = render_client.get("/metrics").text
        labels = f'handler="{handler}",method="POST",status="{status}"'
        found = [
            line for line in page.splitlines() if line.startswith("http_requests_total") and labels in line
        ]
        return float(found[0].rsplit(" ", 1)[1]) if found else 0.0

    path = "/v1/chat/completions/render"
    before = counted(path, 200), counted(path, 400)
    render_client.post(path, json={"messages": [{"role": "user", "content": "x"}]})
    render_client.post(path, json={})
    assert (counted(path, 200), counted(path, 400)) == (before[0] + 1, before[1] + 1)
    # Paths that clients make up share one label.
    render_client.post("/made/up", json={})
    assert "/made/up" not in render_client.get("/metrics").text


def test_the_clients_id_is_taken(render_client: httpx.Client, engine_client: httpx.Client) -> None:
    chat = {"messages": [{"role": "user", "content": "x"}]}
    headers = {"X-Request-Id": "mine-1"}
    rendered = render_client.post("/v1/chat/completions/render", json=chat, headers=headers).json()
    assert rendered["request_id"] == "chatcmpl-mine-1"
    body = {"token_ids": [504], "sampling_params": {"max_tokens": 1}}
    generated = engine_client.post("/inference/v1/generate", json=body, headers=headers).json()
    assert generated["request_id"] == "generate-tokens-mine-1"


def test_health_answers_while_a_large_body_is_worked_on(render_server: ServerProcess) -> None:
    """A 25 MB message must not hold up the event loop (vllm-project/vllm#24910)."""
    import threading

    done = threading.Event()

    def send() -> None:
        body = {"messages": [{"role": "user", "content": "word " * 5_000_000}]}
        with httpx.Client(base_url=render_server.url, timeout=60) as client:
            reply = client.post("/v1/chat/completions/render", json=body)
        assert reply.status_code == 400
        done.set()

    sender = threading.Thread(target=send)
    sender.start()
    waits = []
    with httpx.Client(base_url=render_server.url, timeout=60) as client:
        while sender.is_alive():
            begin = time.perf_counter()
            assert client.get("/health").status_code == 200
            waits.append(time.perf_counter() - begin)
            time.sleep(0.01)
    sender.join()
    assert done.is_set()
    # Half a second on a machine that may be busy; frozen, it would be many.
    assert max(waits) < 0.5


def test_abort_by_the_clients_id(engine_server: ServerProcess) -> None:
    """A running request ends with what it has; both forms of its id are known."""
    body = {
        "token_ids": [504],
        "sampling_params": {"max_tokens": 4000, "ignore_eos": True},
        "stream": True,
        "request_id": "long",
    }
    for identity in ("long", "generate-tokens-long"):
        with (
            httpx.Client(base_url=engine_server.url, timeout=60) as client,
            httpx.Client(base_url=engine_server.url, timeout=60) as other,
            client.stream("POST", "/inference/v1/generate", json=body) as stream,
        ):
            lines = stream.iter_lines()
            assert next(lines).startswith("data: ")
            assert other.get("/load").json() == {"server_load": 1}
            reply = other.post("/inference/v1/abort_requests", json={"request_ids": [identity]})
            assert reply.status_code == 200
            rest = [line for line in lines if line]
            assert rest[-1] == "data: [DONE]"
            assert '"finish_reason":"abort"' in rest[-2]
            assert len(rest) < 1000


def at_work(client: httpx.Client) -> float:
    """Requests in the server and in the engine."""
    lines = client.get("/metrics").text.splitlines()
    (running,) = [line for line in lines if line.startswith("vllm:num_requests_running ")]
    return float(running.rsplit(" ", 1)[1]) + float(client.get("/load").json()["server_load"])


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_leaves_stops_the_work(stream: bool, engine_server: ServerProcess) -> None:
    body = {
        "token_ids": [504],
        "sampling_params": {"max_tokens": 4000, "ignore_eos": True},
        "stream": stream,
    }
    with httpx.Client(base_url=engine_server.url) as watcher:
        for _ in range(5):
            with httpx.Client(base_url=engine_server.url, timeout=0.3) as client:
                try:
                    with client.stream("POST", "/inference/v1/generate", json=body) as reply:
                        next(reply.iter_lines())
                except httpx.ReadTimeout:
                    pass
        deadline = time.monotonic() + 2
        while (running := at_work(watcher)) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert running == 0


def test_sigterm_lets_a_stream_finish(smollm2: object) -> None:
    """vllm-project/vllm#36666: running requests are finished, and the status is 0."""
    body = {
        "token_ids": [504],
        "sampling_params": {"max_tokens": 24, "ignore_eos": True},
        "stream": True,
    }
    with (
        ServerProcess("serve", "smollm2", "--tokens-only") as server,
        httpx.Client(base_url=server.url, timeout=60) as client,
        client.stream("POST", "/inference/v1/generate", json=body) as stream,
    ):
        lines = stream.iter_lines()
        next(lines)
        server.process.terminate()
        rest = [line for line in lines if line]
        assert rest[-1] == "data: [DONE]"
        assert len(rest) == 24
        assert server.process.wait(10) == 0
