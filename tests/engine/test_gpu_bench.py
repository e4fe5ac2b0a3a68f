"""``benches/gpu.py`` runs, small, where there is no GPU, and with nothing but torch and the sources."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

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
