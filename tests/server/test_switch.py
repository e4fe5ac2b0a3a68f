"""Which routes a mode has, over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from dragoman.cli.scale_out import VARIABLE
from dragoman.cli.server_process import ServerProcess

SCALE_OUT = {
    "/v1/chat/completions/render",
    "/v1/completions/render",
    "/v1/messages/render",
    "/v1/responses/render",
    "/v1/chat/completions/derender",
    "/v1/completions/derender",
}
ENGINE = {"/inference/v1/generate", "/inference/v1/abort_requests"}
COUPLED = {"/v1/chat/completions", "/v1/completions"}
DEVELOPMENT = {"/abort_requests"}
ALL = SCALE_OUT | ENGINE | COUPLED | DEVELOPMENT


def paths(client: httpx.Client) -> set[str]:
    """Those of all paths that are there: they refuse an empty object, where others are not found."""
    return {path for path in ALL if client.post(path, json={}).status_code != 404}


@pytest.fixture(scope="module")
def switched_on(smollm2: Path) -> Iterator[ServerProcess]:
    with ServerProcess("serve", "smollm2", environment={VARIABLE: "1"}) as server:
        yield server


def test_launch_render(render_client: httpx.Client) -> None:
    assert paths(render_client) == SCALE_OUT


def test_tokens_only(engine_client: httpx.Client) -> None:
    assert paths(engine_client) == SCALE_OUT | ENGINE | DEVELOPMENT


def test_plain_serve(coupled_client: httpx.Client) -> None:
    assert paths(coupled_client) == COUPLED


def test_plain_serve_switched_on(switched_on: ServerProcess) -> None:
    with httpx.Client(base_url=switched_on.url) as client:
        assert paths(client) == COUPLED | SCALE_OUT | ENGINE
    assert "--enable-scale-out" not in switched_on.log()
