"""From callbacks on the engine's thread to an asynchronous iterator."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable

from dragoman.engine.output import TokenOutput


async def stream(
    begin: Callable[[Callable[[TokenOutput], None]], None], cancel: Callable[[], None]
) -> AsyncGenerator[TokenOutput, None]:
    """Outputs until the one that says ``finished``.

    ``begin`` is given the callback to submit with. ``cancel`` is called where the iterator is left before
    the request is finished: closed, cancelled, or garbage.
    """
    loop = asyncio.get_running_loop()
    arrived: deque[TokenOutput] = deque()
    ready = asyncio.Event()
    # Whether a wake-up is under way. It is taken back before `arrived` is looked at: an output that comes later
    # calls again, and one that came earlier is seen.
    called = False

    def on_output(output: TokenOutput) -> None:
        # One wake-up for as many outputs as gather before the event loop runs.
        nonlocal called
        arrived.append(output)
        if not called:
            called = True
            loop.call_soon_threadsafe(ready.set)

    begin(on_output)
    finished = False
    try:
        while not finished:
            await ready.wait()
            ready.clear()
            called = False
            while arrived:
                output = arrived.popleft()
                finished = output.finished
                yield output
    finally:
        if not finished:
            cancel()
