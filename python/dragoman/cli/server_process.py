"""A server of this package as a child process, on a free loopback port."""

from __future__ import annotations

import os
import selectors
import subprocess
import sys
import tempfile
import time
from types import TracebackType
from typing import IO

from dragoman.server.address import ADDRESS_LINE

# Seconds that a server gets to stop before it is killed.
STOP_TIMEOUT = 10
# What of the log goes into an error message.
LOG_TAIL = 4000


class ServerFailedError(RuntimeError):
    """The server stopped before it listened, or took too long. The message holds the end of its log."""


class ServerProcess:
    """`dragoman ARGUMENTS --host 127.0.0.1 --port 0`, from entering the block to leaving it."""

    def __init__(
        self, *arguments: str, timeout: float = 120.0, environment: dict[str, str] | None = None
    ) -> None:
        self._arguments = [*arguments, "--host", "127.0.0.1", "--port", "0"]
        self._timeout = timeout
        self._environment = {**os.environ, **(environment or {}), "PYTHONUNBUFFERED": "1"}
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - open for the life of the object
        self._process: subprocess.Popen[bytes] | None = None
        self._last_log = ""
        self.url = ""
        self.seconds_to_ready = 0.0

    def __enter__(self) -> ServerProcess:
        begin = time.perf_counter()
        command = [sys.executable, "-m", "dragoman.cli", *self._arguments]
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=self._log, env=self._environment
        )
        try:
            self.url = self._wait_for_address(begin)
        except BaseException:
            self.stop()
            raise
        self.seconds_to_ready = time.perf_counter() - begin
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The process, which runs inside the block."""
        if self._process is None:
            raise RuntimeError("the server was not started")
        return self._process

    def log(self) -> str:
        """What the server has written to stderr so far."""
        if not self._log.closed:
            self._log.seek(0)
            self._last_log = self._log.read().decode(errors="replace")
        return self._last_log

    def stop(self) -> int:
        """Asks the server to stop; the exit status. Waits, and in the end kills."""
        process = self.process
        if process.poll() is None:
            process.terminate()
        try:
            status = process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            status = process.wait()
        if process.stdout is not None:
            process.stdout.close()
        self.log()
        self._log.close()
        return status

    def _wait_for_address(self, begin: float) -> str:
        process = self.process
        if process.stdout is None:
            raise RuntimeError("the server's output is not read")
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while True:
                left = self._timeout - (time.perf_counter() - begin)
                if left <= 0 or not selector.select(left):
                    tail = self.log()[-LOG_TAIL:]
                    raise ServerFailedError(f"no server after {self._timeout:.0f} s:\n{tail}")
                line = process.stdout.readline().decode()
                if not line:
                    process.wait(STOP_TIMEOUT)
                    raise ServerFailedError(
                        f"the server stopped with status {process.returncode}:\n{self.log()[-LOG_TAIL:]}"
                    )
                if line.startswith(ADDRESS_LINE):
                    return line.removeprefix(ADDRESS_LINE).strip()
