"""The edges of HTTP: heads that are too large, requests that do not arrive, offers of another protocol."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from dragoman.cli.server_process import ServerProcess

BODY = json.dumps({"prompt": "hello"}).encode()
# Seconds in which a request has to arrive.
SECONDS = 1.5


@pytest.fixture(scope="module")
def server(smollm2: Path) -> Iterator[ServerProcess]:
    assert smollm2.is_file()
    flags = ("--timeout-request", str(SECONDS), "--timeout-keep-alive", "1")
    with ServerProcess("launch", "render", "smollm2", *flags) as server:
        yield server


def _head(*extra: bytes, length: int = len(BODY)) -> bytes:
    lines = [
        b"POST /tokenize HTTP/1.1",
        b"Host: x",
        b"Content-Type: application/json",
        b"Content-Length: %d" % length,
        *extra,
    ]
    return b"\r\n".join(lines) + b"\r\n\r\n"


def _connect(server: ServerProcess) -> socket.socket:
    parts = urlsplit(server.url)
    connection = socket.create_connection((parts.hostname, parts.port))
    connection.settimeout(SECONDS + 5)
    return connection


def _exchange(server: ServerProcess, *pieces: bytes, pause: float = 0.1) -> tuple[bytes, float]:
    """All that the server sends until it closes the connection, and how many seconds that took."""
    begin = time.monotonic()
    received = b""
    with _connect(server) as connection:
        try:
            for piece in pieces:
                connection.sendall(piece)
                time.sleep(pause)
            while part := connection.recv(65536):
                received += part
        except (BrokenPipeError, ConnectionResetError):
            pass
    return received, time.monotonic() - begin


def _statuses(received: bytes) -> list[int]:
    return [int(part[:3]) for part in received.split(b"HTTP/1.1 ")[1:]]


@pytest.mark.parametrize(
    "pieces",
    [
        (),
        (b"\r\n",),
        (b"POST /tokenize HTT",),
        (b"POST /tokenize HTTP/1.1\r\nHost: x\r\n",),
        (_head() + BODY[:3],),
        (_head(),),
    ],
    ids=["nothing", "line break", "request line", "head", "body", "no body"],
)
def test_what_does_not_arrive_is_given_up(server: ServerProcess, pieces: tuple[bytes, ...]) -> None:
    received, seconds = _exchange(server, *pieces)
    assert SECONDS - 0.5 < seconds < 2 * SECONDS + 2
    # A client that has not begun a request gets no answer to it.
    assert _statuses(received) == ([408] if pieces and pieces[0] != b"\r\n" else [])
    if received:
        error = json.loads(received.partition(b"\r\n\r\n")[2])["error"]
        assert error["code"] == 408


def test_drops_do_not_keep_a_connection_open(server: ServerProcess) -> None:
    drops = [b"X-%d: 1\r\n" % number for number in range(40)]
    received, seconds = _exchange(server, b"GET /health HTTP/1.1\r\n", *drops, pause=0.2)
    assert seconds < SECONDS + 2
    assert _statuses(received) in ([408], [])
    received, seconds = _exchange(server, _head(length=100), *[b"x"] * 40, pause=0.2)
    assert seconds < 2 * SECONDS + 2


def test_an_idle_connection_is_closed(server: ServerProcess) -> None:
    received, seconds = _exchange(server, _head() + BODY)
    assert _statuses(received) == [200]
    assert seconds < 3


@pytest.mark.parametrize(
    "head",
    [
        _head(*[b"X-%d: 1" % number for number in range(300)]),
        _head(b"X: " + b"a" * 100_000),
        b"GET /" + b"a" * 2_000_000,
        b"POST /tokenize HTTP/1.1\r\nX: " + b"a" * 2_000_000,
        b"GET /health HTTP/1.1\r\n" + b"".join(b"X-%d: %s\r\n" % (n, b"a" * 1000) for n in range(200)),
    ],
    ids=["headers", "header", "endless line", "endless header", "sum"],
)
def test_a_large_head_is_refused(server: ServerProcess, head: bytes) -> None:
    received, _ = _exchange(
        server, *(head[at : at + 100_000] for at in range(0, len(head), 100_000)), pause=0
    )
    # The answer may be lost where the client was still sending.
    assert _statuses(received) in ([431], [])
    assert httpx.get(f"{server.url}/health").status_code == 200


def test_trailers_are_bounded(server: ServerProcess) -> None:
    head = b"POST /tokenize HTTP/1.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    body = b"%x\r\n%s\r\n0\r\nX: " % (len(BODY), BODY)
    received, _ = _exchange(server, head + body, *[b"a" * 100_000] * 20, pause=0.01)
    assert _statuses(received) in ([431], [])


OFFER = (b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", b"HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA")


@pytest.mark.parametrize(
    "offer", [OFFER, (b"Connection: upgrade", b"UPGRADE: websocket")], ids=["h2c", "websocket"]
)
def test_an_upgrade_is_declined_and_the_request_answered(
    server: ServerProcess, offer: tuple[bytes, ...]
) -> None:
    upgrade, plain = _head(*offer), _head()
    for pieces in (
        [upgrade + BODY],
        [upgrade, BODY],
        [upgrade + BODY + plain + BODY],
        [upgrade + BODY, upgrade, BODY],
    ):
        received, _ = _exchange(server, *pieces)
        requests = sum(piece.count(b"POST") for piece in pieces)
        assert _statuses(received) == [200] * requests
        assert received.count(b'"count":1') == requests
    chunked = b"\r\n".join(
        [
            b"POST /tokenize HTTP/1.1",
            b"Content-Type: application/json",
            b"Transfer-Encoding: chunked",
            *offer,
            b"",
            b"",
        ]
    )
    received, _ = _exchange(server, chunked, b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY))
    assert _statuses(received) == [200]


def test_what_is_no_http_is_refused(server: ServerProcess) -> None:
    for garbage in (b"\x16\x03\x01\x02\x00", b"GET\r\n\r\n", b"CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n"):
        received, _ = _exchange(server, garbage)
        assert _statuses(received) == [400]
        assert json.loads(received.partition(b"\r\n\r\n")[2])["error"]["code"] == 400


@pytest.mark.parametrize("path", ["/health", "/version", "/metrics", "/v1/models", "/openapi.json"])
def test_head_stands_where_get_does(server: ServerProcess, path: str) -> None:
    head, get = httpx.head(server.url + path), httpx.get(server.url + path)
    assert (head.status_code, head.content) == (get.status_code, b"")
    assert head.headers.get("content-type") == get.headers.get("content-type")


def test_errors_of_the_router_have_the_shape_of_the_api(server: ServerProcess) -> None:
    for method, path, status, name in (
        ("GET", "/v1/nope", 404, "Not Found"),
        ("GET", "/tokenize", 405, "Method Not Allowed"),
        ("DELETE", "/health", 405, "Method Not Allowed"),
    ):
        reply = httpx.request(method, server.url + path)
        assert reply.status_code == status
        assert reply.json() == {"error": {"message": name, "type": name, "param": None, "code": status}}
        assert ("allow" in reply.headers) == (status == 405)
