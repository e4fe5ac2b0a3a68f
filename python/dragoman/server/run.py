"""Runs an application until it is told to stop."""

from __future__ import annotations

import dataclasses
import importlib
import signal
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from types import FrameType

import uvicorn

from dragoman.server.address import ADDRESS_LINE
from dragoman.server.asgi import Application
from dragoman.server.connection import ConnectionLimits, connection_class
from dragoman.server.options import ServerOptions
from dragoman.server.services import load_services

# Seconds that running requests get to finish after SIGTERM.
GRACE = 30


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """Where a server listens, and what its connections may take.

    `port` 0 takes a free one; `uds` is a path and replaces host and port. `keep_alive_seconds` is how long a
    connection stays open after an answer.
    """

    host: str = "0.0.0.0"
    port: int = 8000
    uds: str | None = None
    ssl_keyfile: str | None = None
    ssl_certfile: str | None = None
    log_level: str = "info"
    keep_alive_seconds: int = 5
    limits: ConnectionLimits = dataclasses.field(default_factory=ConnectionLimits)


class _Server(uvicorn.Server):
    """Prints the address when the sockets are open: with port 0 nobody knows it before."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        config = self.config
        if config.uds:
            address = f"unix:{config.uds}"
        else:
            if not self.started or not self.servers:
                return
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            address = f"{'https' if config.is_ssl else 'http'}://{shown}:{port}"
        print(ADDRESS_LINE + address, flush=True)


def _application(options: ServerOptions) -> Application:
    """Loads the model while another thread imports the web framework: both take 0.3 s."""
    with ThreadPoolExecutor(1, thread_name_prefix="dragoman-import") as pool:
        framework = pool.submit(importlib.import_module, "dragoman.server.app")
        services = load_services(options)
        application: Application = framework.result().build_app(services)
    return application


def run(options: ServerOptions, binding: Binding) -> int:
    """Serves until SIGTERM or SIGINT; the exit status."""
    app = _application(options)
    level = binding.log_level
    config = uvicorn.Config(
        app,
        host=binding.host,
        port=binding.port,
        uds=binding.uds,
        ssl_keyfile=binding.ssl_keyfile,
        ssl_certfile=binding.ssl_certfile,
        log_level=level,
        # A line for each request costs more than answering a short one.
        access_log=level in ("debug", "trace"),
        root_path=options.root_path,
        loop="auto" if sys.platform == "win32" else "uvloop",
        http=connection_class(binding.limits),
        ws="none",
        lifespan="on",
        timeout_keep_alive=binding.keep_alive_seconds,
        timeout_graceful_shutdown=GRACE,
        server_header=False,
        date_header=False,
    )
    server = _Server(config)

    def stop(_signal: int, _frame: FrameType | None) -> None:
        server.should_exit = True

    # uvicorn raises the signal once more when it has stopped; a clean stop should end with status 0.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    server.run()
    return 0 if server.started else 3
