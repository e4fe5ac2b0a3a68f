"""`dragoman demo` as a person runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

# Greedy ids of SmolLM2, as vLLM gives them (engine.jsonl, case `greedy`).
GENERATED = (504, 3575, 282, 4649, 314, 7042, 30, 2)


def test_the_demo_prints_each_step(smollm2: Path) -> None:
    environment = {**os.environ, "COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"}
    result = subprocess.run(
        [sys.executable, "-m", "dragoman.cli", "demo"],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    shown = result.stdout.replace("\u00a0", " ")
    for path in (
        "/v1/chat/completions/render",
        "/inference/v1/generate",
        "/v1/chat/completions/derender",
    ):
        assert path in shown
    assert "The capital of France is Paris." in shown
    for token in GENERATED:
        assert f" {token} " in shown
    assert shown.count(" ms") >= len(("render", "generate", "derender"))
    assert max(len(line) for line in shown.splitlines()) <= 100
    assert "Traceback" not in result.stderr
