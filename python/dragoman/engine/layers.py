"""The layers that all architectures share; plain functions and small holders of weights."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

Activation = Callable[[Tensor], Tensor]


class RMSNorm:
    """Root-mean-square norm over the last dimension; ``weight`` is what it multiplies by (Gemma: 1 + w).

    Written out, because torch's own version for CPUs takes six times as long on a prompt. The rounding is
    vLLM's and transformers': float32 inside, rounded to the model's type before the weight is applied.
    """

    __slots__ = ("_epsilon", "_one_over_size", "weight")

    def __init__(self, weight: Tensor, epsilon: float) -> None:
        self.weight = weight
        self._epsilon = torch.tensor(epsilon, device=weight.device)
        self._one_over_size = 1.0 / weight.shape[-1]

    def __call__(self, x: Tensor, dtype: torch.dtype | None = None) -> Tensor:
        """The norm of ``x``, in ``dtype`` (``x``'s own where that is not given)."""
        return self._scale(x.float(), dtype or x.dtype)

    def after_sum(self, x: Tensor, residual: Tensor) -> tuple[Tensor, Tensor]:
        """The norm of ``x + residual``, and that sum; the returned sum is rounded, what is normed is not."""
        wide = x + residual if x.dtype is torch.float32 else x.float().add_(residual)
        return self._scale(wide, x.dtype), wide.to(x.dtype)

    def _scale(self, wide: Tensor, dtype: torch.dtype) -> Tensor:
        length = torch.linalg.vector_norm(wide, 2, -1, True)
        inverse = torch.addcmul(self._epsilon, length, length, value=self._one_over_size).rsqrt_()
        scaled = wide * inverse
        if self.weight.dtype is dtype:
            return scaled.to(dtype).mul_(self.weight)
        # A float32 weight with more digits than the model's type.
        return scaled.mul_(self.weight).to(dtype)


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

    ``cos`` and ``sin`` are float32, ``[tokens, 1, rotary_dim]``; the first half of ``sin`` is negated.
    """
    rotary = cos.shape[-1]
    if rotary != heads.shape[-1]:
        heads = heads[..., :rotary]
    wide = heads.float()
    heads.copy_(torch.addcmul(wide * cos, wide.roll(rotary // 2, -1), sin))
