"""Sequences of ids that may not be completed."""

from __future__ import annotations

from collections.abc import Sequence

Word = tuple[int, ...]


class BadWords:
    """The forbidden sequences of a request, found by the id before their last: a step looks at few of them."""

    def __init__(self, words: Sequence[Word]) -> None:
        self._always = [word[0] for word in words if len(word) == 1]
        self._after: dict[int, list[Word]] = {}
        for word in words:
            if len(word) > 1:
                self._after.setdefault(word[-2], []).append(word)

    def completing(self, token_ids: list[int], prompt_length: int) -> list[int]:
        """The ids that would complete a word whose beginning was generated just before them."""
        banned = list(self._always)
        length = len(token_ids)
        if length == prompt_length:
            return banned
        for word in self._after.get(token_ids[-1], ()):
            begin = length - len(word) + 1
            if begin >= prompt_length and tuple(token_ids[begin:]) == word[:-1]:
                banned.append(word[-1])
        return banned
