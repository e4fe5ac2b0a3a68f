"""HTTP/1.1 connections with bounds: on the head of a request, and on the time in which a request arrives.

uvicorn's protocol over llhttp bounds neither, and takes a request that offers an upgrade for one without a body.
"""

from __future__ import annotations

import asyncio
import dataclasses
import http
import json

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from dragoman.server.errors import error_body

# What a header line has beside its name and value: a colon, a blank and the line's end.
LINE_BYTES = 4


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """`head_bytes` and `headers` bound the head of a request; `request_seconds` the time in which its head has to
    arrive, and after that its body."""

    head_bytes: int = 64 * 1024
    headers: int = 256
    request_seconds: float = 60.0


class BoundedConnection(HttpToolsProtocol):
    """A connection: 431 for a head that is too large, 408 for a request that does not arrive in its time."""

    LIMITS = ConnectionLimits()

    _deadline: asyncio.TimerHandle | None = None
    # Whether a request has begun and is not complete.
    _arriving = False
    _head_bytes = 0
    # Bytes that came without a header or a part of a body being complete.
    _stalled_bytes = 0
    # Whether the request offers an upgrade: it is read again without the offer.
    _offers_upgrade = False
    _refusal: tuple[int, str] | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._set_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        self._clear_deadline()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        if self._deadline is None and not self._is_answering():
            self._set_deadline()
        self._stalled_bytes += len(data)
        self._feed(data)
        if self._stalled_bytes > self.LIMITS.head_bytes and not self.transport.is_closing():
            self._refuse(431, f"the head of the request is larger than {self.LIMITS.head_bytes} bytes")

    def _feed(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError:
            self._refuse(*(self._refusal or (400, "Invalid HTTP request received.")))
        except httptools.HttpParserUpgrade as upgrade:
            self._decline_upgrade(data[upgrade.args[0] :])

    def _decline_upgrade(self, rest: bytes) -> None:
        """No offer is taken up, and the request stands as it is (RFC 9110, 7.8): it is read again without the offer."""
        self._offers_upgrade = False
        method: str = self.scope["method"]
        if method == "CONNECT":
            self._refuse(400, "this server is no proxy")
            return
        line = b"%s %s HTTP/%s\r\n" % (method.encode(), self.url, self.scope["http_version"].encode())
        kept = [name + b": " + value + b"\r\n" for name, value in self.headers if name != b"upgrade"]
        self.parser = httptools.HttpRequestParser(self)
        self._feed(b"".join([line, *kept, b"\r\n", rest]))

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, msg)

    def _refuse(self, status: int, message: str) -> None:
        if self.transport.is_closing():
            return
        phrase = http.HTTPStatus(status).phrase
        body = json.dumps(error_body(status, phrase, message)).encode()
        head = (
            f"HTTP/1.1 {status} {phrase}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()

    # What the parser calls.

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._arriving = True
        self._head_bytes = self._stalled_bytes = 0
        if self._deadline is None:
            self._set_deadline()

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        self._stalled_bytes = 0
        self._head_bytes += len(name) + len(value) + LINE_BYTES
        limits = self.LIMITS
        if len(self.headers) > limits.headers or self._head_bytes > limits.head_bytes:
            self._refusal = (
                431,
                f"the head of the request is larger than {limits.head_bytes} bytes or {limits.headers} headers",
            )
            raise ValueError(self._refusal[1])

    def on_headers_complete(self) -> None:
        self._stalled_bytes = 0
        self._set_deadline()
        if self.parser.should_upgrade():
            self._offers_upgrade = True
            self.scope["method"] = self.parser.get_method().decode("ascii")
            self.scope["http_version"] = self.parser.get_http_version()
            return
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._stalled_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        if self._offers_upgrade:
            return
        self._arriving = False
        self._clear_deadline()
        super().on_message_complete()

    # Time.

    def _set_deadline(self) -> None:
        self._clear_deadline()
        self._deadline = self.loop.call_later(self.LIMITS.request_seconds, self._too_late)

    def _clear_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _is_answering(self) -> bool:
        """Whether an earlier request is being answered, while which nothing is read."""
        cycle = self.cycle
        return bool(self.pipeline) or (
            cycle is not None and not cycle.more_body and not cycle.response_complete
        )

    def _too_late(self) -> None:
        self._deadline = None
        if self.transport.is_closing():
            return
        if self._is_answering():
            self._set_deadline()
        elif not self._arriving or (self.cycle is not None and self.cycle.response_started):
            self.transport.close()
        else:
            if self.cycle is not None:
                # The application is told that the client is gone: the answer is given here.
                self.cycle.disconnected = True
                self.cycle.message_event.set()
            self._refuse(408, f"the request did not arrive within {self.LIMITS.request_seconds:g} seconds")


def connection_class(limits: ConnectionLimits) -> type[BoundedConnection]:
    """The class of a server's connections, as uvicorn takes it."""
    return type("Connection", (BoundedConnection,), {"LIMITS": limits})
