"""An application on a real socket in this process, so that a test can reach into its engine."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import uvicorn

from dragoman.server.app import build_app
from dragoman.server.services import Services


@contextmanager
def running(services: Services) -> Iterator[httpx.Client]:
    """A client of the application while it is served; the engine starts and stops with it."""
    config = uvicorn.Config(build_app(services), host="127.0.0.1", port=0, log_level="warning", lifespan="on")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            thread.join(0.01)
        host, port = server.servers[0].sockets[0].getsockname()[:2]
        with httpx.Client(base_url=f"http://{host}:{port}", timeout=60) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join(30)
