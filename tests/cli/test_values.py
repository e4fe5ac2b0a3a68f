"""Values of flags are read as vLLM reads them, and refused by name."""

from __future__ import annotations

import argparse
from collections.abc import Callable

import pytest

from dragoman.cli.values import context_length, human_integer, json_object, port


@pytest.mark.parametrize(
    ("text", "value"),
    # The examples of vLLM's `human_readable_int`.
    [("4096", 4096), ("1k", 1000), ("1K", 1024), ("25.6k", 25600), ("2M", 2 * 1024**2)],
)
def test_human_integer(text: str, value: int) -> None:
    assert human_integer(text) == value


def test_context_length_of_the_model_itself() -> None:
    assert context_length("-1") == context_length("auto") == -1


def test_json_object() -> None:
    assert json_object('{"enable_thinking": false}') == {"enable_thinking": False}


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (human_integer, "-5"),
        (human_integer, "1.5"),
        (human_integer, "many"),
        (context_length, "-2"),
        (json_object, "{"),
        (json_object, "[1]"),
        (port, "65536"),
        (port, "-1"),
        (port, "http"),
    ],
)
def test_other_values_are_refused_with_the_value(read: Callable[[str], object], text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError) as caught:
        read(text)
    assert text in str(caught.value)
