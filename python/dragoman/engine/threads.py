"""How torch's CPU threads wait for each other."""

from __future__ import annotations

import os

SPIN_COUNT = "2000"
"""Turns a thread spins at a barrier (about 20 microseconds) before it sleeps.

By default libgomp spins for milliseconds. Where anything else wants the cores (a web server, another
engine, a build) a spinning thread keeps the one it waits for from running: measured on 2 busy cores,
decoding went from 1 to 7 tokens a second with this.
"""


def settle() -> None:
    """Set the default where the environment says nothing. Call before torch loads, which reads it then."""
    if not any(name in os.environ for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")):
        os.environ["GOMP_SPINCOUNT"] = SPIN_COUNT
