"""Raw ASGI endpoints for JSON bodies: the hot routes spend no time in a web framework."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from typing import NamedTuple, TypeVar

from dragoman.server.asgi import (
    EVENT_STREAM,
    Headers,
    Receive,
    Scope,
    Send,
    header,
    send_response,
    wait_for_disconnect,
)
from dragoman.server.body import check_content_type, read_body
from dragoman.server.errors import ClientGoneError, send_error

T = TypeVar("T")
Events = AsyncGenerator[bytes, None]

# A body up to this size is worked on in the event loop. Encoding takes 0.24 ms for each kilobyte and
# a thread 0.03 ms to hand over to: from here on one costs little, and other connections are not held up.
INLINE_BYTES = 1024


class Workers:
    """The threads in which the core works on large bodies; it releases the GIL."""

    def __init__(self, threads: int, inline_bytes: int = INLINE_BYTES) -> None:
        self._inline_bytes = inline_bytes
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="dragoman-core")

    async def run(self, size: int, call: Callable[[], T]) -> T:
        """The result of `call`, which works on a body of `size` bytes."""
        if size <= self._inline_bytes:
            return call()
        return await asyncio.get_running_loop().run_in_executor(self._pool, call)

    def close(self) -> None:
        """Waits for no work that has begun; called when the server stops."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class Answer(NamedTuple):
    """A response body and the headers that go with it."""

    body: bytes
    headers: Headers = ()


# Gets the request body and the client's own id of the request.
Call = Callable[[bytes, str | None], Answer]


class CoreEndpoint:
    """POST, bytes in, bytes out: `call` is a method of the core."""

    def __init__(self, call: Call, workers: Workers, limit: int) -> None:
        self._call = call
        self._workers = workers
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            check_content_type(scope)
            body = await read_body(scope, receive, self._limit)
            identity = request_id(scope)
            answer = await self._workers.run(len(body), lambda: self._call(body, identity))
        except ClientGoneError:
            return
        except Exception as error:
            await send_error(scope, send, error)
            return
        await send_response(send, 200, answer.body, headers=answer.headers)


class StreamingEndpoint:
    """POST for what takes a while: `answer(body, request_id)` gives the body or a generator of events.

    When the client goes away the work is cancelled.
    """

    def __init__(self, answer: Callable[[bytes, str | None], Awaitable[bytes | Events]], limit: int) -> None:
        self._answer = answer
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            check_content_type(scope)
            body = await read_body(scope, receive, self._limit)
        except ClientGoneError:
            return
        except Exception as error:
            await send_error(scope, send, error)
            return
        work = asyncio.ensure_future(self._respond(body, scope, send))
        gone = asyncio.ensure_future(wait_for_disconnect(receive))
        try:
            await asyncio.wait((work, gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            # Also when the server itself gives up: nothing may go on generating unseen.
            gone.cancel()
            if not work.done():
                work.cancel()
            results = await asyncio.gather(work, gone, return_exceptions=True)
        failure = results[0]
        if isinstance(failure, Exception):
            raise failure

    async def _respond(self, body: bytes, scope: Scope, send: Send) -> None:
        try:
            reply = await self._answer(body, request_id(scope))
        except Exception as error:
            await send_error(scope, send, error)
            return
        if isinstance(reply, bytes):
            await send_response(send, 200, reply)
            return
        # Closed at once where sending is cancelled: left to the garbage collector, it would go on generating.
        async with aclosing(reply):
            try:
                # Awaited before the status is sent: a request that the engine refuses gets a plain 400.
                event = await anext(reply)
            except Exception as error:
                await send_error(scope, send, error)
                return
            headers = [(b"content-type", EVENT_STREAM), (b"cache-control", b"no-cache")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": event, "more_body": True})
            async for event in reply:
                await send({"type": "http.response.body", "body": event, "more_body": True})
            await send({"type": "http.response.body", "body": b""})


def request_id(scope: Scope) -> str | None:
    """The client's own id of the request, from X-Request-Id."""
    value = header(scope, b"x-request-id")
    return None if value is None else value.decode("latin-1")
