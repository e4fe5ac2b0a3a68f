"""From the host to the device without waiting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


def to_device(values: Sequence[Any], device: torch.device, dtype: torch.dtype | None = None) -> Tensor:
    """Numbers of a step as a tensor on the device, by :func:`queue_copy`."""
    return queue_copy(torch.tensor(values, dtype=dtype), device)


def queue_copy(values: Tensor, device: torch.device) -> Tensor:
    """A host tensor on the device; to a GPU the copy is queued behind its work and the host goes on.

    Only pinned memory is copied that way. torch keeps the pinned copy until the device has read it.
    """
    if device.type != "cuda":
        return values.to(device)
    return values.pin_memory().to(device, non_blocking=True)
