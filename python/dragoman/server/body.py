"""Reads a JSON request body within its bound."""

from __future__ import annotations

from dragoman.server.asgi import JSON, Receive, Scope, header
from dragoman.server.errors import ApiError, ClientGoneError

UNSUPPORTED_MEDIA_TYPE = "1 validation error:\n  Unsupported Media Type: Only 'application/json' is allowed"


def check_content_type(scope: Scope) -> None:
    """Raises ApiError unless the body is declared as JSON; parameters such as a charset are let through.

    The rule keeps a web page from posting here without a preflight request.
    """
    declared = header(scope, b"content-type") or b""
    if declared.split(b";", 1)[0].strip().lower() != JSON:
        raise ApiError("validation", UNSUPPORTED_MEDIA_TYPE)


async def read_body(scope: Scope, receive: Receive, limit: int) -> bytes:
    """The body, at most `limit` bytes. Raises ApiError beyond that, before the rest is read."""
    declared = header(scope, b"content-length")
    if declared is not None and declared.isdigit() and int(declared) > limit:
        raise _too_large(limit)
    message = await receive()
    first: bytes = message.get("body", b"")
    if message["type"] == "http.request" and not message.get("more_body", False) and len(first) <= limit:
        return first
    parts = [first]
    size = len(first)
    while True:
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        if size > limit:
            raise _too_large(limit)
        if not message.get("more_body", False):
            return b"".join(parts)
        message = await receive()
        part: bytes = message.get("body", b"")
        parts.append(part)
        size += len(part)


def _too_large(limit: int) -> ApiError:
    return ApiError("too_large", f"the request body is larger than {limit} bytes, the most that is accepted")
