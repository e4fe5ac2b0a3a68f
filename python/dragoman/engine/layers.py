"""The layers that all architectures share; plain functions and small holders of weights."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

Activation = Callable[[Tensor], Tensor]


class RMSNorm:
    """Root-mean-square norm over the last dimension; ``weight`` is what it multiplies by (Gemma: 1 + w)."""

    __slots__ = ("_shape", "epsilon", "weight")

    def __init__(self, weight: Tensor, epsilon: float) -> None:
        self.weight = weight
        self.epsilon = epsilon
        self._shape = tuple(weight.shape)

    def __call__(self, x: Tensor) -> Tensor:
        if x.dtype is self.weight.dtype:
            return functional.rms_norm(x, self._shape, self.weight, self.epsilon)
        # A float32 weight with more digits than x: multiply before rounding.
        return functional.rms_norm(x.float(), self._shape, self.weight, self.epsilon).to(x.dtype)


def silu(x: Tensor) -> Tensor:
    return functional.silu(x)


def gelu_tanh(x: Tensor) -> Tensor:
    return functional.gelu(x, approximate="tanh")


ACTIVATIONS: dict[str, Activation] = {
    "silu": silu,
    "gelu_pytorch_tanh": gelu_tanh,
}


def apply_rotary(heads: Tensor, cos: Tensor, sin: Tensor) -> None:
    """Rotate ``heads`` (``[tokens, heads, head_dim]``) in place, halves paired as Hugging Face pairs them.

    ``cos`` and ``sin`` are ``[tokens, 1, rotary_dim]``; the first half of ``sin`` is already negated.
    """
    rotary = cos.shape[-1]
    if rotary != heads.shape[-1]:
        heads = heads[..., :rotary]
    swapped = heads.roll(rotary // 2, -1)
    torch.addcmul(heads * cos, swapped, sin, out=heads)
