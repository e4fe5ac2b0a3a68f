"""VLLM_ENABLE_SCALE_OUT_ENDPOINTS and --enable-scale-out."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest

from dragoman.cli.scale_out import VARIABLE, SwitchError, scale_out

DEDICATED = "`dragoman launch render`"


@pytest.mark.parametrize(
    ("value", "flag", "dedicated", "exposed"),
    [
        (None, False, None, False),
        ("0", False, None, False),
        ("1", False, None, True),
        (None, True, None, True),
        ("1", True, None, True),
        (None, False, DEDICATED, True),
        ("1", False, DEDICATED, True),
        (None, True, DEDICATED, True),
    ],
)
def test_exposed(
    value: str | None,
    flag: bool,
    dedicated: str | None,
    exposed: bool,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    if value is None:
        monkeypatch.delenv(VARIABLE, raising=False)
    else:
        monkeypatch.setenv(VARIABLE, value)
    with caplog.at_level(logging.INFO):
        assert scale_out(flag=flag, dedicated=dedicated) is exposed
    # Off is said once, with both remedies.
    assert len(caplog.records) == (0 if exposed else 1)
    if not exposed:
        assert "--enable-scale-out" in caplog.text
        assert VARIABLE in caplog.text


@pytest.mark.parametrize("value", ["", "2", "true", "yes", " 1", "on"])
def test_other_values_are_refused(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, value)
    with pytest.raises(SwitchError, match=VARIABLE):
        scale_out(flag=False, dedicated=None)


def test_0_and_the_flag_contradict_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "0")
    with pytest.raises(SwitchError, match="--enable-scale-out"):
        scale_out(flag=True, dedicated=None)


@pytest.mark.parametrize(
    ("command", "mode"),
    [
        (["launch", "render", "smollm2"], "launch render"),
        (["serve", "smollm2", "--tokens-only"], "--tokens-only"),
    ],
)
def test_a_dedicated_mode_refuses_to_start_with_0(
    command: list[str], mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "0")
    result = subprocess.run(
        [sys.executable, "-m", "dragoman.cli", *command], capture_output=True, text=True, check=False
    )
    assert result.returncode == 2
    # The variable, the mode, the remedy; one line, no traceback.
    assert VARIABLE in result.stderr
    assert mode in result.stderr
    assert "unset" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
