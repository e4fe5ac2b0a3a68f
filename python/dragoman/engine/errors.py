"""The engine's errors. Which HTTP status each becomes is the server's business."""

from __future__ import annotations


class EngineError(Exception):
    """Base of every error the engine raises on purpose."""


class InvalidRequestError(EngineError, ValueError):
    """A request that the engine refuses before it reaches the loop.

    ``parameter`` names the offending field, as the wire calls it.
    """

    def __init__(self, message: str, parameter: str | None = None) -> None:
        super().__init__(message)
        self.parameter = parameter


class EngineDeadError(EngineError, RuntimeError):
    """The engine is not running: never started, shut down, or its loop was lost."""


class QueueFullError(EngineError, RuntimeError):
    """Too many requests wait already; ask again later."""


class UnsupportedModelError(EngineError, ValueError):
    """The weights or the architecture are of a kind that this engine does not read."""
