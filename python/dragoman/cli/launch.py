"""`dragoman launch render MODEL`: the render and derender endpoints, without an engine."""

from __future__ import annotations

import argparse
from typing import Any

from dragoman.cli.flags import add_bounds_flags, add_model_flags, add_server_flags
from dragoman.cli.start import start


def add_parser(commands: Any) -> None:
    """Adds the command."""
    parser = commands.add_parser("launch", help="start a server without an engine")
    kinds = parser.add_subparsers(required=True, metavar="KIND")
    render = kinds.add_parser("render", help="serve render and derender; needs no GPU and no torch")
    add_model_flags(render)
    add_server_flags(render)
    add_bounds_flags(render)
    render.set_defaults(run=run)


def run(flags: argparse.Namespace) -> int:
    """Serves until told to stop."""
    return start(flags, "render", "`dragoman launch render`")
