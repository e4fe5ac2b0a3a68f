"""Matrix products with weights that are prepared once for the device they run on."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

PACKING_BATCH = 16
"""Batch size that the CPU kernel's weight layout is chosen for.

Measured on AVX-512 with bf16: the layout for 16 rows is as good as any from 1 to 2,048 rows, and two to
four times faster at 2 to 16 rows than the layout for one row.
"""


class Linear:
    """``x @ weight.T + bias``; ``weight`` is ``[out_features, in_features]``.

    On a CPU whose oneDNN knows the weight's type the weight is kept in oneDNN's blocked layout.
    """

    __slots__ = ("_packed", "_weight", "bias", "in_features", "out_features")

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        self.out_features, self.in_features = weight.shape
        self.bias = bias
        self._packed: Tensor | None = None
        self._weight: Tensor | None = weight
        if can_pack(weight):
            self._packed = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), PACKING_BATCH)
            self._weight = None

    def __call__(self, x: Tensor) -> Tensor:
        """``x`` is ``[tokens, in_features]``; gives ``[tokens, out_features]``."""
        if self._packed is not None:
            product: Tensor = torch.ops.mkldnn._linear_pointwise(x, self._packed, self.bias, "none", [], "")
            return product
        assert self._weight is not None
        return functional.linear(x, self._weight, self.bias)


def can_pack(weight: Tensor) -> bool:
    """Whether oneDNN's blocked layout is available for this weight."""
    if weight.device.type != "cpu" or not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return False
    if not hasattr(torch.ops.mkldnn, "_reorder_linear_weight"):
        return False
    if weight.dtype is torch.bfloat16:
        return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
    return weight.dtype is torch.float32
