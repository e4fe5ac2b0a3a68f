"""Rotary position tables with the published ways of stretching them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from dragoman.engine.errors import UnsupportedModelError


class RotaryTable:
    """Cosines and signed sines for every position, ``[positions, 1, rotary_dim]``.

    Kept as float32, but rounded to the model's type: that is what the reference engines multiply by.
    """

    __slots__ = ("cos", "sin")

    def __init__(
        self,
        inverse_frequencies: Tensor,
        positions: int,
        scale: float,
        device: torch.device,
        dtype: torch.dtype,
    ) -> None:
        angles = torch.outer(torch.arange(positions, dtype=torch.float32), inverse_frequencies.float().cpu())
        cos = angles.cos() * scale
        sin = angles.sin() * scale
        self.cos = torch.cat((cos, cos), -1).unsqueeze(1).to(dtype).to(device, torch.float32)
        self.sin = torch.cat((-sin, sin), -1).unsqueeze(1).to(dtype).to(device, torch.float32)


def build_table(
    *,
    rotary_dim: int,
    theta: float,
    scaling: Mapping[str, Any] | None,
    positions: int,
    trained_positions: int,
    device: torch.device,
    dtype: torch.dtype,
    frequency_factors: Tensor | None = None,
) -> RotaryTable:
    """A table for ``positions`` positions.

    ``scaling`` is Hugging Face's ``rope_scaling``/``rope_parameters`` (kinds: default, linear, llama3,
    yarn, longrope). ``frequency_factors`` are GGUF's ready-made divisors of the inverse frequencies
    (``[rotary_dim / 2]``) and take the place of ``scaling``.
    """
    exponents = torch.arange(0, rotary_dim, 2, dtype=torch.float32) / rotary_dim
    inverse = 1.0 / theta**exponents
    scale = 1.0
    if frequency_factors is not None:
        inverse = inverse / frequency_factors.float().cpu()
    elif scaling is not None:
        kind = scaling.get("rope_type", scaling.get("type", "default"))
        if kind == "linear":
            inverse = inverse / float(scaling["factor"])
        elif kind == "llama3":
            inverse = _llama3(inverse, scaling)
        elif kind == "yarn":
            inverse, scale = _yarn(inverse, scaling, rotary_dim, theta, trained_positions)
        elif kind == "longrope":
            inverse, scale = _longrope(inverse, scaling, positions, trained_positions)
        elif kind != "default":
            raise UnsupportedModelError(f"rope scaling of type {kind!r} is not supported")
    return RotaryTable(inverse, positions, scale, device, dtype)


def _llama3(inverse: Tensor, scaling: Mapping[str, Any]) -> Tensor:
    """Llama 3.1: long waves are stretched, short ones kept, those between blended."""
    factor = float(scaling["factor"])
    low, high = float(scaling["low_freq_factor"]), float(scaling["high_freq_factor"])
    original = float(scaling["original_max_position_embeddings"])
    wave = 2 * math.pi / inverse
    blend = ((original / wave - low) / (high - low)).clamp(0.0, 1.0)
    return (1 - blend) * inverse / factor + blend * inverse


def _yarn(
    inverse: Tensor, scaling: Mapping[str, Any], rotary_dim: int, theta: float, trained_positions: int
) -> tuple[Tensor, float]:
    """YaRN (arXiv 2309.00071): interpolate by wave length, and scale the result."""
    factor = float(scaling["factor"])
    original = float(scaling.get("original_max_position_embeddings") or trained_positions)

    def dimension(rotations: float) -> float:
        return rotary_dim * math.log(original / (rotations * 2 * math.pi)) / (2 * math.log(theta))

    low = dimension(float(scaling.get("beta_fast") or 32.0))
    high = dimension(float(scaling.get("beta_slow") or 1.0))
    if scaling.get("truncate", True):
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, rotary_dim - 1)
    ramp = ((torch.arange(rotary_dim // 2, dtype=torch.float32) - low) / max(high - low, 0.001)).clamp(0, 1)
    stretched = inverse / factor * ramp + inverse * (1 - ramp)
    attention = scaling.get("attention_factor")
    if attention is not None:
        return stretched, float(attention)

    def mscale(weight: float) -> float:
        return 1.0 if factor <= 1 else 0.1 * weight * math.log(factor) + 1.0

    if scaling.get("mscale") and scaling.get("mscale_all_dim"):
        return stretched, mscale(float(scaling["mscale"])) / mscale(float(scaling["mscale_all_dim"]))
    return stretched, mscale(1.0)


def _longrope(
    inverse: Tensor, scaling: Mapping[str, Any], positions: int, trained_positions: int
) -> tuple[Tensor, float]:
    """LongRoPE (Phi 3): one list of divisors for short contexts, one for long ones.

    The choice is made once, by the longest context served, as in vLLM: changing it in the middle of a
    sequence would contradict the keys that are cached already.
    """
    original = int(scaling.get("original_max_position_embeddings") or trained_positions)
    long = positions > original
    divisors = torch.tensor(scaling["long_factor" if long else "short_factor"], dtype=torch.float32)
    factor = scaling.get("attention_factor")
    if factor is None:
        ratio = float(scaling.get("factor") or max(trained_positions, original) / original)
        factor = 1.0 if ratio <= 1 else math.sqrt(1 + math.log(ratio) / math.log(original))
    return inverse / divisors, float(factor)
