"""Outputs that repeat themselves; the meaning is that of vLLM's documentation of `repetition_detection`."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.engine import Engine, InvalidRequestError, RepetitionDetection

from .collect import Answer, run
from .engines import PROMPT
from .test_token_mask import Cycle


@pytest.mark.parametrize(
    ("ids", "fields", "met"),
    [
        ([1, 2, 3, 3, 3], {"max_pattern_size": 5, "min_count": 3}, True),
        ([1, 2, 3, 3], {"max_pattern_size": 5, "min_count": 3}, False),
        ([9, 1, 2, 1, 2], {"max_pattern_size": 2, "min_count": 2}, True),
        ([1, 2, 1, 2, 3], {"max_pattern_size": 2, "min_count": 2}, False),
        ([1, 2, 3, 1, 2, 3], {"max_pattern_size": 2, "min_count": 2}, False),
        ([1, 2, 3, 1, 2, 3], {"max_pattern_size": 3, "min_count": 2}, True),
        ([3, 3, 3, 3], {"max_pattern_size": 3, "min_pattern_size": 3, "min_count": 2}, False),
        ([3, 3, 3, 3], {"max_pattern_size": 3, "min_pattern_size": 2, "min_count": 2}, True),
        ([3, 3, 3, 3], {}, False),
        ([], {"max_pattern_size": 3, "min_count": 2}, False),
    ],
)
def test_what_is_a_repetition(ids: list[int], fields: dict[str, int], met: bool) -> None:
    found = RepetitionDetection(**fields)
    found.validate()
    assert found.is_met(ids, 0) == met
    # The prompt does not count.
    assert found.is_met([7, 7, 7, *ids], 3) == met


def ask(engine: Engine, fields: dict[str, int], **params: Any) -> Answer:
    """An output that repeats a pattern of three ids for ever."""
    options = {"make_mask": lambda: Cycle([{10}, {20}, {30}], 1000)}
    return run(
        engine,
        PROMPT,
        options=options,
        temperature=0.0,
        max_tokens=40,
        repetition_detection=RepetitionDetection(**fields),
        **params,
    )


def test_an_output_ends_where_it_repeats_itself(engine: Engine) -> None:
    answer = ask(engine, {"max_pattern_size": 4, "min_count": 3})
    assert answer.token_ids == [10, 20, 30] * 3
    choice = answer.choices[0]
    assert (choice.finish_reason, choice.stop_reason) == ("repetition", "repetition_detected")
    assert len(ask(engine, {"max_pattern_size": 4, "min_count": 3}, min_tokens=20).token_ids) == 20
    assert ask(engine, {"max_pattern_size": 2, "min_count": 3}).choices[0].finish_reason == "length"


@pytest.mark.parametrize(
    "fields",
    [
        {"max_pattern_size": -1},
        {"max_pattern_size": 3, "min_pattern_size": 4, "min_count": 2},
        {"max_pattern_size": 3, "min_pattern_size": -1, "min_count": 2},
        {"max_pattern_size": 3, "min_count": 1},
    ],
)
def test_refusals(fields: dict[str, int], engine: Engine) -> None:
    with pytest.raises(InvalidRequestError) as refusal:
        ask(engine, fields)
    assert refusal.value.parameter == "repetition_detection"
