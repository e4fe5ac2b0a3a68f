"""What the benches measure against, and how: two callables in turn, so that noise falls on both alike."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def seconds_each(
    ours: Callable[[], Any], theirs: Callable[[], Any], rounds: int = 15, seconds: float = 0.05
) -> tuple[float, float]:
    """Seconds of one call of each in its best round: other work on the machine only ever adds to a round.

    Calls are repeated until a round takes `seconds`.
    """
    counts = [_repeats(call, seconds) for call in (ours, theirs)]
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for call, count, found in zip((ours, theirs), counts, times, strict=True):
            begin = time.perf_counter()
            for _ in range(count):
                call()
            found.append((time.perf_counter() - begin) / count)
    return min(times[0]), min(times[1])


def _repeats(call: Callable[[], Any], seconds: float) -> int:
    call()
    begin = time.perf_counter()
    call()
    return max(1, int(seconds / max(time.perf_counter() - begin, 1e-7)))


def report(name: str, ours: float, theirs: float, peer: str) -> float:
    """Prints a line and returns how many times faster ours is."""
    ratio = theirs / ours
    print(f"\n{name:<44} {ours * 1e6:>10.0f} µs   {peer} {theirs * 1e6:>10.0f} µs   {ratio:>6.1f} x")
    return ratio
