"""What is imported: neither torch nor transformers before an engine is asked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

# Slow to import, and needed for an engine, a hub download or a jinja2 fallback only.
HEAVY = ("torch", "transformers", "huggingface_hub", "gguf", "safetensors", "tokenizers")

PROGRAMS = {
    "import": "import dragoman",
    "names": "from dragoman import Renderer, Derenderer",
    "render": """
from dragoman.cli import launch
from dragoman.cli.start import server_options
from dragoman.server.app import build_app
from dragoman.server.services import load_services
import argparse
parser = argparse.ArgumentParser()
launch.add_parser(parser.add_subparsers())
flags = parser.parse_args(["launch", "render", "smollm2"])
build_app(load_services(server_options(flags, "render", exposed=True)))
import dragoman.server.run
""",
}


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_no_heavy_import(name: str, smollm2: Path) -> None:
    program = PROGRAMS[name] + f"\nimport sys\nprint([name for name in {HEAVY} if name in sys.modules])"
    # The command proves itself: torch is here to be imported.
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert result.stderr == ""
    assert result.stdout.strip() == "[]"
