"""The generate step: token ids in, token ids out, on one device.

Importing this package does not import torch; touching :class:`Engine` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dragoman.engine.config import EngineConfig
from dragoman.engine.errors import (
    EngineDeadError,
    EngineError,
    InvalidRequestError,
    QueueFullError,
    UnsupportedModelError,
)
from dragoman.engine.output import FinishReason, RankedLogprob, TokenLogprob, TokenOutput
from dragoman.engine.params import SamplingParams
from dragoman.engine.repetition import RepetitionDetection
from dragoman.engine.statistics import EngineStats
from dragoman.engine.token_mask import MakeMask, TokenMask

if TYPE_CHECKING:
    from dragoman.engine.engine import Engine

__all__ = [
    "Engine",
    "EngineConfig",
    "EngineDeadError",
    "EngineError",
    "EngineStats",
    "FinishReason",
    "InvalidRequestError",
    "MakeMask",
    "QueueFullError",
    "RankedLogprob",
    "RepetitionDetection",
    "SamplingParams",
    "TokenLogprob",
    "TokenMask",
    "TokenOutput",
    "UnsupportedModelError",
]


def __getattr__(name: str) -> Any:
    if name == "Engine":
        from dragoman.engine.engine import Engine

        return Engine
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
