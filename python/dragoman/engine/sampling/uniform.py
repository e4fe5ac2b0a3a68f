"""Random numbers that depend on a seed and a position only."""

from __future__ import annotations

_MASK = (1 << 64) - 1


def uniform(seed: int, position: int) -> float:
    """A number in [0, 1) for the token at ``position`` of a sequence seeded with ``seed``.

    No state is carried, so a request draws the same numbers alone, in any batch, on any device, and again
    after it was preempted. Two rounds of the SplitMix64 finaliser (Steele, Lea and Flood, 2014).
    """
    return (_mix(_mix(seed & _MASK) ^ (position & _MASK)) >> 11) * 2.0**-53


def _mix(value: int) -> int:
    value = (value + 0x9E3779B97F4A7C15) & _MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)
