"""Ends an output that repeats itself. Fields and meaning are vLLM's ``repetition_detection``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.engine.errors import InvalidRequestError

STOP_REASON = "repetition_detected"


@dataclass(frozen=True, slots=True, kw_only=True)
class RepetitionDetection:
    """A pattern of ``min_pattern_size`` (0: 1) to ``max_pattern_size`` (0: off) ids that comes ``min_count`` times."""

    max_pattern_size: int = 0
    min_pattern_size: int = 0
    min_count: int = 0

    def validate(self) -> None:
        """Raise :class:`InvalidRequestError` for sizes and counts that mean nothing."""
        if not 0 <= self.min_pattern_size <= self.max_pattern_size:
            raise InvalidRequestError(
                f"repetition_detection: min_pattern_size={self.min_pattern_size} must be from 0 to "
                f"max_pattern_size={self.max_pattern_size}",
                "repetition_detection",
            )
        if self.max_pattern_size > 0 and self.min_count < 2:
            raise InvalidRequestError(
                f"repetition_detection: min_count must be at least 2, got {self.min_count}",
                "repetition_detection",
            )

    def is_met(self, token_ids: Sequence[int], begin: int) -> bool:
        """Whether the ids from ``begin`` on end with such a pattern."""
        if self.max_pattern_size == 0:
            return False
        length = len(token_ids) - begin
        largest = min(self.max_pattern_size, length // self.min_count)
        for size in range(max(self.min_pattern_size, 1), largest + 1):
            # Most sizes are ruled out by the last id alone.
            if token_ids[-1] != token_ids[-1 - size]:
                continue
            repeated = token_ids[-size * self.min_count :]
            if repeated[size:] == repeated[:-size]:
                return True
        return False
