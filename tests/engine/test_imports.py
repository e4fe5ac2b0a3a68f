"""The engine knows token ids only, and its parameters cost no torch."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import dragoman.engine

PACKAGE = Path(dragoman.engine.__file__).parent
FORBIDDEN = ("tokenizers", "transformers", "fastapi", "starlette", "uvicorn", "jinja2", "sentencepiece")


def imported_modules(source: str) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


def test_engine_imports_neither_tokenizer_nor_server() -> None:
    files = list(PACKAGE.rglob("*.py"))
    assert len(files) > 20
    for file in files:
        for name in imported_modules(file.read_text(encoding="utf-8")):
            assert name.split(".")[0] not in FORBIDDEN, f"{file} imports {name}"
            inside = name.startswith("dragoman")
            assert not inside or name.startswith("dragoman.engine"), f"{file} imports {name}"


def test_parameters_come_without_torch() -> None:
    code = (
        "import sys; from dragoman.engine import EngineConfig, SamplingParams, TokenOutput; "
        "SamplingParams(); sys.exit('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, timeout=60)
    assert done.returncode == 0
