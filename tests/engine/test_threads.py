"""Torch's threads come and go with the thread that computes."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
import torch

from dragoman.engine import EngineConfig, UnsupportedModelError
from dragoman.engine.threads import apart

TASKS = Path("/proc/self/task")


@pytest.mark.skipif(not TASKS.is_dir(), reason="threads are counted as Linux lists them")
@pytest.mark.skipif(torch.get_num_threads() < 2, reason="one core needs no workers")
def test_what_computes_apart_leaves_no_workers_behind() -> None:
    def count() -> int:
        return len(list(TASKS.iterdir()))

    def multiply() -> int:
        # Large enough for torch to split it.
        square = torch.ones(1024, 1024)
        float((square @ square).sum())
        return count()

    def settled() -> int:
        """Once those of engines that were just shut down are gone."""
        seen, since = count(), time.monotonic()
        while time.monotonic() - since < 0.2:
            time.sleep(0.01)
            if count() != seen:
                seen, since = count(), time.monotonic()
        return seen

    before = settled()
    # The thread itself, and at least one worker of its own.
    assert apart(multiply) >= before + 2
    # The kernel takes a moment to remove a thread that has ended.
    deadline = time.monotonic() + 5
    while count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert count() <= before


def test_apart_hands_on_what_is_returned_and_raised() -> None:
    def fail() -> None:
        raise UnsupportedModelError("no such thing")

    assert apart(lambda: 7) == 7
    with pytest.raises(UnsupportedModelError, match="no such thing"):
        apart(fail)


def test_threads_are_bounded_by_the_cores() -> None:
    cores = os.cpu_count()
    assert cores is not None
    assert EngineConfig(model="m", cpu_threads=cores).cpu_threads == cores
    for threads, limit in (
        (cores + 1, f"at most {cores}"),
        (2048 * cores, f"at most {cores}"),
        (0, "at least 1"),
    ):
        with pytest.raises(ValueError, match=f"cpu_threads must be {limit}.*, got {threads}$"):
            EngineConfig(model="m", cpu_threads=threads)
