"""The few ASGI moves that the raw endpoints need."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = Sequence[tuple[bytes, bytes]]

JSON = b"application/json"
EVENT_STREAM = b"text/event-stream; charset=utf-8"


def header(scope: Scope, name: bytes) -> bytes | None:
    """The first header of that (lower-case) name."""
    for key, value in scope["headers"]:
        if key == name:
            found: bytes = value
            return found
    return None


def route_path(scope: Scope) -> str:
    """The path without the prefix that a proxy leaves on."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


async def send_response(
    send: Send, status: int, body: bytes, *, content_type: bytes = JSON, headers: Headers = ()
) -> None:
    """A whole response."""
    fields = [(b"content-type", content_type), (b"content-length", str(len(body)).encode()), *headers]
    await send({"type": "http.response.start", "status": status, "headers": fields})
    await send({"type": "http.response.body", "body": body})


class HeadAsGet:
    """HEAD wherever GET stands: the same answer, whose body the server leaves out."""

    def __init__(self, app: Application) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "HEAD":
            # The server's own scope still says HEAD.
            scope = {**scope, "method": "GET"}
        await self._app(scope, receive, send)


async def wait_for_disconnect(receive: Receive) -> None:
    """Returns when the client is gone. Only for a request whose body has been read to its end."""
    while (await receive())["type"] != "http.disconnect":
        pass
