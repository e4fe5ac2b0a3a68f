"""`--enable-log-requests` and `--max-log-len`."""

from __future__ import annotations

import httpx

from dragoman.cli.server_process import ServerProcess

BODY = {"messages": [{"role": "user", "content": "a secret question"}]}


def logged(*flags: str) -> str:
    with ServerProcess("launch", "render", "smollm2", *flags) as server:
        answer = httpx.post(f"{server.url}/v1/chat/completions/render", json=BODY)
        assert answer.status_code == 200
        return server.log()


def test_bodies_are_logged_only_on_request() -> None:
    assert "secret" not in logged()
    assert "a secret question" in logged("--enable-log-requests")


def test_logged_bodies_are_cut() -> None:
    log = logged("--enable-log-requests", "--max-log-len", "12")
    assert 'POST /v1/chat/completions/render {"messages"' in log
    assert "secret" not in log
