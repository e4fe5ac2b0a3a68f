"""``benches/gpu.py`` runs, small, where there is no GPU, and with nothing but torch and the sources."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from benches import gpu

from dragoman.engine.attention.paged import PagedAttention

ROOT = Path(__file__).resolve().parents[2]

# Stands in for a machine without the compiled core and without the packages of the server.
WITHOUT_THE_REST = """
import runpy, sys
for name in ("dragoman._core", "transformers", "fastapi", "tokenizers"):
    sys.modules[name] = None
sys.argv = ["gpu.py", *sys.argv[1:]]
runpy.run_path({script!r}, run_name="__main__")
"""


def test_the_gpu_bench_runs_small(tmp_path: Path) -> None:
    report = tmp_path / "figures.json"
    code = WITHOUT_THE_REST.format(script=str(ROOT / "benches" / "gpu.py"))
    done = subprocess.run(
        [sys.executable, "-c", code, "--small", "--json", str(report)],
        check=False,
        capture_output=True,
        text=True,
        timeout=100,
        env={**os.environ, "OMP_WAIT_POLICY": "passive"},
    )
    assert done.returncode == 0, done.stderr
    figures = json.loads(report.read_text(encoding="utf-8"))
    assert [model["model"] for model in figures["models"]] == ["Qwen3-0.6B", "Llama-3.2-1B"]
    for model in figures["models"]:
        assert [(line["batch"], line["graphs"]) for line in model["decode"]] == [
            (1, True),
            (1, False),
            (4, True),
            (4, False),
        ]
        for line in model["decode"]:
            assert line["tokens_per_second"] > 0
            assert line["bandwidth_share"] > 0
        assert model["prefill"]["matmul_share"] > 0


def test_what_does_not_fit_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Memory for the cache of one sequence and of the prompt, but not for that of four sequences."""
    four_sequences = 4 * (gpu.SMALL.context + 4 * gpu.SMALL.steps) // gpu.BLOCK_SIZE

    def small_device(config: Any, num_blocks: int, *rest: Any) -> PagedAttention:
        if num_blocks >= four_sequences:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return PagedAttention(config, num_blocks, *rest)

    monkeypatch.setattr(gpu, "PagedAttention", small_device)
    report = tmp_path / "figures.json"
    assert gpu.main(["--small", "--json", str(report)]) == 0
    for model in json.loads(report.read_text(encoding="utf-8"))["models"]:
        assert [(line["batch"], line["graphs"]) for line in model["decode"]] == [(1, True), (1, False)]
        assert model["prefill"]["matmul_share"] > 0
    printed = capsys.readouterr().out
    assert printed.count("batch   4, graphs: left out, the device has too little memory") == 2


def test_no_measurement_begins_when_the_time_is_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "figures.json"
    assert gpu.main(["--small", "--seconds", "0", "--json", str(report)]) == 0
    assert json.loads(report.read_text(encoding="utf-8"))["models"] == []
    assert "Qwen3-0.6B: left out, the time is up" in capsys.readouterr().out
