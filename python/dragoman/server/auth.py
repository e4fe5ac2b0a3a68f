"""The API key: every route needs it but the few that orchestrators and scrapers ask."""

from __future__ import annotations

import hashlib
import hmac

from dragoman.server.asgi import Application, Receive, Scope, Send, header, route_path, send_response

# Exact paths, so that no spelling of a guarded path slips through; everything else is guarded.
OPEN_PATHS = frozenset({"/health", "/ping", "/version", "/metrics"})
SCHEME = b"bearer"


class KeyGuard:
    """Answers 401 unless the request carries `Authorization: Bearer KEY`."""

    def __init__(self, app: Application, keys: tuple[str, ...]) -> None:
        self._app = app
        # Hashes have one length, so comparing them tells nothing about the keys' lengths.
        self._digests = [_digest(key.encode()) for key in keys]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket") and not self._may_pass(scope):
            await send_response(send, 401, b'{"error":"Unauthorized"}')
            return
        await self._app(scope, receive, send)

    def _may_pass(self, scope: Scope) -> bool:
        if route_path(scope) in OPEN_PATHS:
            return True
        scheme, _, key = (header(scope, b"authorization") or b"").partition(b" ")
        if scheme.lower() != SCHEME:
            return False
        given = _digest(key.strip())
        matches = [hmac.compare_digest(given, digest) for digest in self._digests]
        return any(matches)


def _digest(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()
