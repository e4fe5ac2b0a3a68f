"""Forbidden sequences, beside the straightforward search."""

from __future__ import annotations

import random

from dragoman.engine.bad_words import BadWords


def completes(word: tuple[int, ...], generated: list[int]) -> bool:
    """Whether the output ends with all of the word but its last id."""
    return len(word) == 1 or tuple(generated[-len(word) + 1 :]) == word[:-1]


def test_what_would_complete_a_word() -> None:
    rng = random.Random(3)
    for _ in range(2000):
        words = [tuple(rng.choices(range(3), k=rng.randint(1, 4))) for _ in range(rng.randint(1, 6))]
        prompt, generated = rng.choices(range(3), k=3), rng.choices(range(3), k=rng.randint(0, 6))
        expected = [word[-1] for word in words if completes(word, generated)]
        found = BadWords(words).completing(prompt + generated, len(prompt))
        assert sorted(found) == sorted(expected)
