"""Logs the requests that come in, cut to a length: `--enable-log-requests` and `--max-log-len`."""

from __future__ import annotations

import logging

from dragoman.server.asgi import Application, Message, Receive, Scope, Send

LOGGER = logging.getLogger("dragoman.requests")


class RequestLog:
    """Logs method, path and the beginning of each request's body.

    `length` bounds the characters that are shown; None shows all.
    """

    def __init__(self, app: Application, length: int | None) -> None:
        self._app = app
        self._length = length

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        parts: list[bytes] = []

        async def watched_receive() -> Message:
            message = await receive()
            if message["type"] == "http.request":
                parts.append(message.get("body", b""))
                if not message.get("more_body", False):
                    self._write(scope, b"".join(parts))
                    parts.clear()
            return message

        await self._app(scope, watched_receive, send)

    def _write(self, scope: Scope, body: bytes) -> None:
        text = body.decode(errors="replace")
        if self._length is not None and len(text) > self._length:
            text = f"{text[: self._length]}… ({len(text)} characters)"
        LOGGER.info("%s %s %s", scope["method"], scope["path"], text)
