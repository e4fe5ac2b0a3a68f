"""`dragoman serve MODEL`: an engine behind the OpenAI endpoints, or behind the scale-out ones alone."""

from __future__ import annotations

import argparse
from typing import Any

from dragoman.cli.flags import add_bounds_flags, add_engine_flags, add_model_flags, add_server_flags
from dragoman.cli.start import start


def add_parser(commands: Any) -> None:
    """Adds the command."""
    parser = commands.add_parser("serve", help="start a server with an engine")
    parser.add_argument(
        "--tokens-only", action="store_true", help="token ids in and out: the generate step of the pipeline"
    )
    parser.add_argument(
        "--enable-trainer-endpoints",
        action="store_true",
        help="with --tokens-only: pause, resume and change the weights by request",
    )
    add_model_flags(parser)
    add_server_flags(parser)
    add_bounds_flags(parser)
    add_engine_flags(parser)
    parser.set_defaults(run=run)


def run(flags: argparse.Namespace) -> int:
    """Serves until told to stop."""
    if flags.tokens_only:
        return start(flags, "tokens-only", "`dragoman serve --tokens-only`")
    return start(flags, "serve", None)
