"""A render server answers within a second of its start."""

from __future__ import annotations

import os
from pathlib import Path

from dragoman.cli.server_process import ServerProcess

SECONDS = 1.0
TRIES = 3
STAT = "/proc/{pid}/stat"
# Fields of /proc/PID/stat, counted after the name: user and system time in ticks.
USER_TIME, SYSTEM_TIME = 11, 12


def processor_seconds(pid: int) -> float:
    """Processor time that a process has used."""
    fields = Path(STAT.format(pid=pid)).read_text().rsplit(")", 1)[1].split()
    return (int(fields[USER_TIME]) + int(fields[SYSTEM_TIME])) / os.sysconf("SC_CLK_TCK")


def test_launch_render_is_ready_in_a_second(smollm2: Path) -> None:
    with ServerProcess("launch", "render", "smollm2"):
        pass  # the first start may convert the vocabulary
    times = []
    for _ in range(TRIES):
        with ServerProcess("launch", "render", "smollm2") as server:
            taken = [server.seconds_to_ready]
            # A neighbour that takes the processor makes the start longer, but not more work.
            if Path(STAT.format(pid=server.process.pid)).exists():
                taken.append(processor_seconds(server.process.pid))
            times.append(min(taken))
    assert min(times) < SECONDS, times
