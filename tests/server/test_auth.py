"""--api-key and VLLM_API_KEY guard every route but the life signs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from dragoman.cli.server_process import ServerProcess

OPEN = ["/health", "/ping", "/version", "/metrics"]
GUARDED = [
    ("POST", "/v1/chat/completions/render"),
    ("POST", "/v1/completions/render"),
    ("POST", "/v1/chat/completions/derender"),
    ("POST", "/tokenize"),
    ("GET", "/v1/models"),
    ("GET", "/load"),
    ("GET", "/openapi.json"),
    ("GET", "/docs"),
    # Other spellings of a guarded path, and methods that clients use for looking around.
    ("POST", "//v1/chat/completions/render"),
    ("POST", "/V1/chat/completions/render"),
    ("POST", "/v1/chat/completions/render/"),
    ("POST", "/health/../v1/chat/completions/render"),
    ("GET", "/health/"),
    ("POST", "/invocations"),
    ("OPTIONS", "/v1/models"),
    ("HEAD", "/v1/models"),
    ("GET", "/nowhere"),
]

WRONG = [None, "key-1", "Bearer", "Bearer key-3", "Basic key-1", "Bearer key-1x", "Bearer key-1 key-1"]


@pytest.fixture(scope="module", params=["flag", "variable"])
def server(request: pytest.FixtureRequest, smollm2: Path) -> Iterator[ServerProcess]:
    if request.param == "flag":
        process = ServerProcess("launch", "render", "smollm2", "--api-key", "key-1", "key-2")
    else:
        process = ServerProcess("launch", "render", "smollm2", environment={"VLLM_API_KEY": "key-1"})
    with process as running:
        yield running


@pytest.fixture(scope="module")
def client(server: ServerProcess) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url) as anonymous:
        yield anonymous


@pytest.mark.parametrize("path", OPEN)
def test_life_signs_are_open(path: str, client: httpx.Client) -> None:
    assert client.get(path).status_code == 200


@pytest.mark.parametrize(("method", "path"), GUARDED)
@pytest.mark.parametrize(
    "credentials", [None, "key-1", "Bearer", "Bearer key-3", "Basic key-1", "Bearer key-1x"]
)
def test_others_need_the_key(method: str, path: str, credentials: str | None, client: httpx.Client) -> None:
    headers = {} if credentials is None else {"authorization": credentials}
    reply = client.request(method, path, headers=headers)
    assert reply.status_code == 401
    if method != "HEAD":
        assert reply.json() == {"error": "Unauthorized"}


@pytest.mark.parametrize("credentials", ["Bearer key-1", "bearer key-1"])
def test_the_key_opens(credentials: str, client: httpx.Client) -> None:
    assert client.get("/v1/models", headers={"authorization": credentials}).status_code == 200
