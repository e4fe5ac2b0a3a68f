"""From the host to the device without waiting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


def to_device(values: Sequence[Any], device: torch.device, dtype: torch.dtype | None = None) -> Tensor:
    """Numbers of a step as a tensor; to a GPU the copy is queued behind its work and the host goes on."""
    if device.type != "cuda":
        return torch.tensor(values, device=device, dtype=dtype)
    return torch.tensor(values, dtype=dtype, pin_memory=True).to(device, non_blocking=True)
