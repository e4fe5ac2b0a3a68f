"""`--stream-state-key`: replicas that share it carry on each other's streams, and others refuse them."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from dragoman.cli.server_process import ServerProcess


def _chunk(server: ServerProcess, token_ids: list[int], state: object) -> httpx.Response:
    body = {
        "stream": True,
        "stream_state": state,
        "generate_chunk": {"request_id": "r", "choices": [{"index": 0, "token_ids": token_ids}]},
    }
    return httpx.post(f"{server.url}/v1/chat/completions/derender", json=body)


def _server(*flags: str) -> ServerProcess:
    return ServerProcess("launch", "render", "smollm2", *flags)


def test_replicas_share_a_key(smollm2: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert smollm2.is_file()
    monkeypatch.setenv("DRAGOMAN_STREAM_STATE_KEY", "a secret")
    with _server() as of_environment:
        monkeypatch.delenv("DRAGOMAN_STREAM_STATE_KEY")
        with _server("--stream-state-key", "a secret") as of_flag, _server() as random:
            state = _chunk(of_environment, [504, 3575], None).json()["stream_state"]
            reply = _chunk(of_flag, [282, 4649], state)
            assert reply.status_code == 200, reply.text
            assert reply.json()["chunk"]["choices"][0]["delta"]["content"] == " of France"
            refused = _chunk(random, [282, 4649], state)
            assert refused.status_code == 400
            assert refused.json()["error"]["param"] == "stream_state"
