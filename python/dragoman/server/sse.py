"""Server-sent events as the OpenAI streams use them."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from dragoman.server.errors import describe, error_value

DONE = b"data: [DONE]\n\n"


def event(value: Any) -> bytes:
    """One event: `data: {json}` and an empty line."""
    return b"data: " + compact(value) + b"\n\n"


def compact(value: Any) -> bytes:
    """JSON without spaces. Raises ValueError for NaN and infinities, which JSON cannot hold."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


async def guarded(events: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """The events and `[DONE]`; a failure after the first event becomes an event that holds the error."""
    begun = False
    async with aclosing(events):
        try:
            async for item in events:
                begun = True
                yield item
        except Exception as error:
            if not begun:
                raise
            told = describe(error)
            yield event(error_value(told.kind, told.message, told.param))
    yield DONE
