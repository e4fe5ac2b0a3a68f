"""The token mask of one choice: a matcher of llguidance, behind the reasoning where there is one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from llguidance import LLMatcher
from numpy.typing import NDArray

TAIL = 64
"""Ids of the output's end in which the end of the reasoning is looked for."""

EndsReasoning = Callable[[list[int]], bool]


class GrammarMask:
    """A matcher that goes along with the ids. ``words`` is the length of the matcher's own mask."""

    def __init__(self, matcher: LLMatcher, words: int) -> None:
        self._matcher = matcher
        self._words = words

    def fill(self, row: NDArray[np.int32]) -> None:
        """The allowed ids; ids that only the model or only the tokenizer has are never allowed."""
        own = row if len(row) == self._words else np.zeros(self._words, dtype=np.int32)
        self._matcher.unsafe_compute_mask_ptr(own.ctypes.data, own.nbytes)
        if self._matcher.is_error():
            raise RuntimeError(first_line(self._matcher.get_error()))
        if own is not row:
            shared = min(len(row), len(own))
            row[:shared] = own[:shared]
            row[shared:] = 0

    def accept(self, token: int) -> bool:
        """Go on behind a token."""
        return self._matcher.consume_token(token)

    @property
    def is_terminated(self) -> bool:
        """Whether the grammar allows nothing but the end."""
        return self._matcher.is_stopped()


class MaskAfterReasoning:
    """Anything goes until the reasoning has ended; then the grammar begins."""

    def __init__(self, grammar: GrammarMask, ends_reasoning: EndsReasoning) -> None:
        self._grammar = grammar
        self._ends_reasoning = ends_reasoning
        self._tail: list[int] = []
        self._answering = False

    def fill(self, row: NDArray[np.int32]) -> None:
        """The allowed ids."""
        if self._answering:
            self._grammar.fill(row)
        else:
            row.fill(-1)

    def accept(self, token: int) -> bool:
        """Go on behind a token."""
        if self._answering:
            return self._grammar.accept(token)
        self._tail = [*self._tail[1 - TAIL :], token]
        self._answering = self._ends_reasoning(self._tail)
        return True

    @property
    def is_terminated(self) -> bool:
        """Whether the grammar allows nothing but the end."""
        return self._answering and self._grammar.is_terminated


def first_line(message: str) -> str:
    """What a client is told of an error: a grammar's own text may follow in later lines."""
    return message.strip().split("\n", 1)[0][:300]
