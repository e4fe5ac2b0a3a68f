"""A panic of the core: 500 with an id that the log explains, and the server goes on."""

from __future__ import annotations

import dataclasses
import logging
import re
from pathlib import Path
from typing import Any

import pytest

from dragoman import _core
from dragoman.model import ModelOptions
from dragoman.server.options import ServerOptions
from dragoman.server.services import load_services
from tests.server.running_app import running

PATH = "/v1/chat/completions/derender"
CHOICE = {"index": 0, "token_ids": [504], "finish_reason": "stop"}
BODY = {"generate_response": {"request_id": "r", "choices": [CHOICE]}}


class Panicking:
    """A derenderer that panics for one request id."""

    def __init__(self, inner: _core.Derenderer) -> None:
        self._inner = inner

    def chat(self, body: bytes) -> tuple[bytes, bool]:
        if b"brittle" in body:
            _core.panic_in_core("out of its mind")
        return self._inner.chat(body)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def test_the_exception_carries_message_place_and_backtrace(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(_core.CorePanicError) as caught:
        _core.panic_in_core("out of its mind")
    text = str(caught.value)
    assert "out of its mind" in text
    assert "panic.rs" in text
    assert "panic_in_core" in text
    # The log of the server has it, and nothing else.
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("padding", [0, 4096], ids=["in the event loop", "in a thread"])
def test_a_panic_is_a_500_and_the_next_request_is_served(
    smollm2: Path, caplog: pytest.LogCaptureFixture, padding: int
) -> None:
    assert smollm2.is_file()
    options = ServerOptions(mode="render", model=ModelOptions(model="smollm2"), scale_out=True)
    services = load_services(options)
    services = dataclasses.replace(services, derenderer=Panicking(services.derenderer))  # type: ignore[arg-type]
    body = {**BODY, "unknown": "x" * padding}
    with caplog.at_level(logging.ERROR), running(services) as client:
        brittle = {"generate_response": {**BODY["generate_response"], "request_id": "brittle"}}
        reply = client.post(PATH, json={**body, **brittle})
        assert reply.status_code == 500
        error = reply.json()["error"]
        assert (error["type"], error["code"]) == ("InternalServerError", 500)
        assert "mind" not in error["message"]
        identity = re.search(r"error-[0-9a-f]{16}", error["message"])
        assert identity
        assert f"{identity.group()}: a panic in the core" in caplog.text
        assert "panic_in_core" in caplog.text
        assert client.post(PATH, json=body).status_code == 200
