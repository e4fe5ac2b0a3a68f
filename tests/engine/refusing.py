"""Stands in for what a GPU forbids or pays for, as far as torch's operations show it without one."""

from __future__ import annotations

from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode

READS = frozenset({"aten::_local_scalar_dense", "aten::nonzero"})
"""The host reads a number, or a shape that depends on numbers, and waits for it."""

CAPTURE_REFUSES = READS | {"aten::lift_fresh"}
"""Also numbers that come from the host."""


class Refusing(TorchDispatchMode):
    """Raises where one of the named operations runs."""

    def __init__(self, names: frozenset[str]) -> None:
        super().__init__()
        self._names = names

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func._schema.name in self._names:
            raise RuntimeError(f"{func._schema.name} is refused")
        return func(*args, **(kwargs or {}))
