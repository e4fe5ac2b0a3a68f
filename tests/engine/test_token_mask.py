"""Token masks in the engine: what a mask forbids is never chosen, whatever else goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from dragoman.engine import Engine, SamplingParams, TokenMask

from .collect import Answer, Pending, run
from .engines import PROMPT, all_blocks_free, build

VOCABULARY = 256


class Cycle:
    """Allows, at each place of the output, one of the sets in turn; ends after ``length`` tokens."""

    def __init__(self, sets: list[set[int]], length: int) -> None:
        self._sets = sets
        self._length = length
        self.accepted: list[int] = []

    def fill(self, row: NDArray[np.int32]) -> None:
        allowed = np.zeros(32 * len(row), dtype=np.uint8)
        allowed[list(self._sets[len(self.accepted) % len(self._sets)])] = 1
        row[:] = np.packbits(allowed, bitorder="little").view(np.int32)

    def accept(self, token: int) -> bool:
        here = self._sets[len(self.accepted) % len(self._sets)]
        self.accepted.append(token)
        return token in here

    @property
    def is_terminated(self) -> bool:
        return len(self.accepted) >= self._length


SETS = [{3, 31, 32, 63}, {0, 255}, {100, 101, 102, 103, 104, 105}]


def cycles(length: int = 12) -> tuple[Callable[[], TokenMask], list[Cycle]]:
    made: list[Cycle] = []

    def make() -> TokenMask:
        made.append(Cycle(SETS, length))
        return made[-1]

    return make, made


def follows(tokens: list[int]) -> bool:
    return all(token in SETS[place % len(SETS)] for place, token in enumerate(tokens))


@pytest.mark.parametrize("params", [{"temperature": 0.0}, {"temperature": 2.0, "seed": 5}])
def test_only_allowed_tokens_are_chosen(engine: Engine, params: dict[str, float]) -> None:
    make, made = cycles()
    answer = run(engine, PROMPT, options={"make_mask": make}, ignore_eos=True, max_tokens=50, **params)  # type: ignore[arg-type]
    assert follows(answer.token_ids)
    assert len(answer.token_ids) == 12
    assert (answer.choices[0].finish_reason, answer.choices[0].stop_reason) == ("stop", None)
    assert made[0].accepted == answer.token_ids
    assert all_blocks_free(engine)


def test_a_mixed_batch(engine: Engine) -> None:
    """Constrained and free requests, greedy and drawn, answer as they do alone."""

    def submit(number: int) -> Pending:
        params = SamplingParams(
            temperature=0.0 if number % 4 < 2 else 1.5, seed=number, ignore_eos=True, max_tokens=10
        )
        options = {"make_mask": cycles(8)[0]} if number % 2 else {}
        return Pending(engine, [*PROMPT, number], params, request_id=f"mixed-{number}", **options)

    together = [pending.result().token_ids for pending in [submit(number) for number in range(16)]]
    for number, tokens in enumerate(together):
        assert follows(tokens) == bool(number % 2)
        assert len(tokens) == (8 if number % 2 else 10)
        assert submit(number).result().token_ids == tokens


def test_choices_have_masks_of_their_own(engine: Engine) -> None:
    make, made = cycles()
    answer = run(
        engine,
        PROMPT,
        options={"make_mask": make},
        n=5,
        temperature=2.0,
        seed=3,
        ignore_eos=True,
        max_tokens=50,
    )
    assert len(made) == 5
    texts = [answer.choices[index].token_ids for index in range(5)]
    assert all(follows(tokens) and len(tokens) == 12 for tokens in texts)
    assert sorted(mask.accepted for mask in made) == sorted(texts)
    assert len({tuple(tokens) for tokens in texts}) > 1


def test_a_preempted_choice_does_not_go_on_twice(tiny_llama: Path) -> None:
    """Room for one sequence and a half: the masks see each token once, and the ids are those without pressure."""

    def answers(memory: int) -> tuple[list[Answer], list[Cycle], int]:
        engine = build(tiny_llama, kv_cache_memory_bytes=memory, max_model_len=256)
        make, made = cycles(200)
        engine.start()
        try:
            params = SamplingParams(temperature=1.5, seed=9, ignore_eos=True, max_tokens=200)
            pending = [
                Pending(engine, [*PROMPT, number], params, request_id=str(number), make_mask=make)
                for number in range(6)
            ]
            return [item.result() for item in pending], made, engine.stats.preemptions
        finally:
            engine.shutdown()

    block = 2 * 2 * 2 * 16 * 16 * 4
    pressed, made, preemptions = answers(24 * block)
    free, _, none = answers(400 * block)
    assert preemptions > 0
    assert none == 0
    assert [answer.token_ids for answer in pressed] == [answer.token_ids for answer in free]
    assert sorted(mask.accepted for mask in made) == sorted(answer.token_ids for answer in pressed)


def test_what_a_mask_and_the_parameters_leave(engine: Engine) -> None:
    def ask(**params: object) -> Answer:
        return run(
            engine, PROMPT, options={"make_mask": cycles()[0]}, temperature=0.0, max_tokens=50, **params
        )  # type: ignore[arg-type]

    assert set(ask(logit_bias={31: 100.0, 7: 100.0}, ignore_eos=True).token_ids[::3]) == {31}
    assert set(ask(allowed_token_ids=(3, 0, 100, 200), ignore_eos=True).token_ids) == {3, 0, 100}
    nothing = ask(allowed_token_ids=(200,))
    assert nothing.choices[0].finish_reason == "error"
    assert "no token is left" in (nothing.choices[0].error or "")
    # Its own stop ids end it as they end any other.
    assert ask(stop_token_ids=(0, 255), ignore_eos=True).choices[0].stop_reason in (0, 255)
    # Before min_tokens they are forbidden, and here the mask then allows nothing.
    assert ask(stop_token_ids=(0, 255), min_tokens=8, ignore_eos=True).choices[0].finish_reason == "error"


class Broken(Cycle):
    def fill(self, row: NDArray[np.int32]) -> None:
        if len(self.accepted) == 3:
            raise RuntimeError("too complex")
        super().fill(row)


def test_a_mask_that_fails_ends_its_choice_only(engine: Engine) -> None:
    params = SamplingParams(temperature=0.0, ignore_eos=True, max_tokens=30)
    others = [Pending(engine, PROMPT, params, request_id=f"other-{number}") for number in range(3)]
    answer = run(
        engine,
        PROMPT,
        options={"make_mask": lambda: Broken(SETS, 12)},
        temperature=0.0,
        ignore_eos=True,
        max_tokens=30,
    )
    assert answer.choices[0].finish_reason == "error"
    assert "too complex" in (answer.choices[0].error or "")
    assert len(answer.token_ids) == 3
    assert all(len(other.result().token_ids) == 30 for other in others)
    assert all_blocks_free(engine)
    assert engine.stats.failed_steps == 0
