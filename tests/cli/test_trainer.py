"""The switch of a trainer's endpoints."""

from __future__ import annotations

import pytest

from dragoman.cli.scale_out import SwitchError
from dragoman.cli.trainer import VARIABLE, trainer


@pytest.mark.parametrize(
    ("value", "flag", "expected"),
    [(None, False, False), (None, True, True), ("0", False, False), ("0", True, True), ("1", False, True)],
)
def test_the_switch(value: str | None, flag: bool, expected: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    if value is not None:
        monkeypatch.setenv(VARIABLE, value)
    assert trainer(flag=flag, tokens_only=True) is expected


def test_no_other_server_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    assert trainer(flag=False, tokens_only=False) is False
    with pytest.raises(SwitchError, match="needs --tokens-only"):
        trainer(flag=True, tokens_only=False)


def test_another_value_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "yes")
    with pytest.raises(SwitchError, match="VLLM_SERVER_DEV_MODE is 'yes'; it accepts 0 or 1"):
        trainer(flag=False, tokens_only=True)
