"""`dragoman demo`: the three steps over HTTP on a small real model, shown one by one."""

from __future__ import annotations

import argparse
import sys
from typing import Any

MODEL = "smollm2"
QUESTION = "What is the capital of France?"


def add_parser(commands: Any) -> None:
    """Adds the command."""
    parser = commands.add_parser("demo", help="render, generate and derender one question on a small model")
    parser.add_argument("--question", default=QUESTION)
    parser.add_argument("--max-tokens", type=int, default=64, metavar="N")
    parser.set_defaults(run=run)


def run(flags: argparse.Namespace) -> int:
    """Runs the demo; the exit status."""
    try:
        import rich  # noqa: F401
    except ImportError:
        print("dragoman: the demo needs rich: pip install 'dragoman[engine,demo]'", file=sys.stderr)
        return 1
    from dragoman.cli.fetch import fetch_with_progress
    from dragoman.cli.pipeline import run_demo
    from dragoman.engine.threads import share_cores

    # The engine's cores are also those of the frontend and of whoever watches.
    share_cores()
    fetch_with_progress(MODEL)
    return run_demo(MODEL, flags.question, flags.max_tokens)
