"""What the tests share: reference data, the small model, and real server processes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from dragoman.cli.fetch import fetch_with_progress
from dragoman.cli.server_process import ServerProcess
from dragoman.engine.threads import share_cores
from tests.conformance.data import SHARED

# Tests run beside builds and each other, and so do the servers that they start.
share_cores()


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with the reference data, which is not part of the repository."""
    if not SHARED.is_dir():
        pytest.skip("the reference data (../shared) is not here")
    return SHARED


@pytest.fixture(scope="session")
def smollm2() -> Path:
    """The GGUF file of the small model, fetched where it is not in the cache."""
    return fetch_with_progress("smollm2")


@pytest.fixture(scope="session")
def render_server(smollm2: Path) -> Iterator[ServerProcess]:
    """`dragoman launch render smollm2`."""
    with ServerProcess("launch", "render", "smollm2") as server:
        yield server


@pytest.fixture(scope="session")
def engine_server(smollm2: Path) -> Iterator[ServerProcess]:
    """`dragoman serve smollm2 --tokens-only`, named as in the reference data."""
    arguments = ("--tokens-only", "--max-model-len", "4096", "--served-model-name", "smol", "smollm2")
    with ServerProcess("serve", "smollm2", *arguments) as server:
        yield server


@pytest.fixture(scope="session")
def coupled_server(smollm2: Path) -> Iterator[ServerProcess]:
    """Plain `dragoman serve smollm2`: the scale-out endpoints are off."""
    with ServerProcess("serve", "smollm2", "--max-model-len", "4096") as server:
        yield server


@pytest.fixture(scope="session")
def render_client(render_server: ServerProcess) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=render_server.url, timeout=60) as client:
        yield client


@pytest.fixture(scope="session")
def engine_client(engine_server: ServerProcess) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=engine_server.url, timeout=60) as client:
        yield client


@pytest.fixture(scope="session")
def coupled_client(coupled_server: ServerProcess) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=coupled_server.url, timeout=60) as client:
        yield client
