"""The HTTP statuses and error bodies: the one place that knows them.

`{"error": {"message", "type", "param", "code"}}`, where `code` equals the status. Under `/v1/messages` it is
Anthropic's: `{"type": "error", "error": {…}}` with the types of that API, which its SDKs dispatch on.
"""

from __future__ import annotations

import json
import logging
import secrets
from typing import Any

from dragoman._core import CorePanicError, RequestError
from dragoman.server.asgi import Headers, Scope, Send, route_path, send_response

LOGGER = logging.getLogger("dragoman")

# Kind of error -> status and `type` on the wire.
STATUS: dict[str, tuple[int, str]] = {
    "validation": (400, "Bad Request"),
    "bad_request": (400, "BadRequestError"),
    "invalid_request": (400, "invalid_request_error"),
    "not_found": (404, "NotFoundError"),
    "too_large": (413, "RequestEntityTooLargeError"),
    "overloaded": (429, "TooManyRequestsError"),
    "internal": (500, "InternalServerError"),
    "unavailable": (503, "ServiceUnavailableError"),
}
ANTHROPIC_PATHS = "/v1/messages"
# Status -> `type` of Anthropic's errors.
ANTHROPIC_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
}
# Seconds after which a client that met a full queue may try again.
RETRY_AFTER = b"1"
INTERNAL_MESSAGE = "the server failed to answer this request: see {id} in its log"


class ApiError(Exception):
    """A refusal that the server itself makes; the core raises RequestError. `kind` is a key of STATUS."""

    def __init__(self, kind: str, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.param = param


class ClientGoneError(Exception):
    """The client closed the connection; nobody reads an answer."""


def error_status(kind: str) -> int:
    """The HTTP status of a kind of error."""
    return STATUS[kind][0]


def error_value(kind: str, message: str, param: str | None = None, *, path: str = "") -> dict[str, Any]:
    """The error body as a value."""
    status, name = STATUS[kind]
    return error_body(status, name, message, param, path=path)


def error_body(
    status: int, name: str, message: str, param: str | None = None, *, path: str = ""
) -> dict[str, Any]:
    """The error body of a status and a type, in the shape of the API that `path` belongs to."""
    error = {"message": message, "type": name, "param": param, "code": status}
    if path.startswith(ANTHROPIC_PATHS):
        error["type"] = ANTHROPIC_TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
        return {"type": "error", "error": error}
    return {"error": error}


def describe(error: Exception) -> ApiError:
    """What a client is told about an exception. Unknown ones are logged under an id, and their text stays here."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, RequestError):
        kind = error.kind if error.kind in STATUS else "bad_request"
        return ApiError(kind, error.message, error.param)
    # Only where an engine is loaded has its package been imported; its error classes need no torch.
    from dragoman.engine import EngineDeadError, InvalidRequestError, QueueFullError

    if isinstance(error, InvalidRequestError):
        return ApiError("bad_request", str(error), error.parameter)
    if isinstance(error, QueueFullError):
        return ApiError("overloaded", str(error))
    if isinstance(error, EngineDeadError):
        LOGGER.error("the engine is not running: %s", error)
        return ApiError("unavailable", "the engine is not running")
    identity = f"error-{secrets.token_hex(8)}"
    if isinstance(error, CorePanicError):
        LOGGER.error("%s: a panic in the core: %s", identity, error)
    else:
        LOGGER.error("%s: a request failed", identity, exc_info=error)
    return ApiError("internal", INTERNAL_MESSAGE.format(id=identity))


async def send_error(scope: Scope, send: Send, error: Exception) -> None:
    """Answers with the status and body of an exception."""
    path = route_path(scope)
    told = describe(error)
    headers: Headers = ((b"retry-after", RETRY_AFTER),) if told.kind == "overloaded" else ()
    body = json.dumps(error_value(told.kind, told.message, told.param, path=path), ensure_ascii=False)
    # A message may quote what cannot be encoded, a lone surrogate for one.
    await send_response(send, error_status(told.kind), body.encode("utf-8", "replace"), headers=headers)
