"""The seam to whatever says which tokens may come next: a grammar, which the engine knows nothing of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class TokenMask(Protocol):
    """What may come next in one choice.

    Its methods are called one at a time, ``fill`` on a thread of its own while the model runs.
    """

    def fill(self, row: NDArray[np.int32]) -> None:
        """Set the bits of the allowed ids: bit ``id % 32`` of ``row[id // 32]``; all others are cleared.

        An exception ends the choice with an error.
        """
        ...

    def accept(self, token: int) -> bool:
        """Go on behind ``token``; false where it was not allowed."""
        ...

    @property
    def is_terminated(self) -> bool:
        """Whether nothing can follow any more, so that the choice is complete."""
        ...


MakeMask = Callable[[], TokenMask]
"""Makes the mask of one choice, as it is before the first token. Must be quick."""


def words_for(vocab_size: int) -> int:
    """Length of a mask's row."""
    return -(-vocab_size // 32)
