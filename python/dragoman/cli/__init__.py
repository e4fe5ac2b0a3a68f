"""The command line: one file for each command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from dragoman.cli import demo, fetch, launch, serve


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; the exit status. Errors that a user can mend are one line on stderr, status 1."""
    parser = argparse.ArgumentParser(
        prog="dragoman",
        description="The interpreter between OpenAI/Anthropic JSON and engines that speak token ids.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in (launch, serve, demo, fetch):
        command.add_parser(commands)
    options = parser.parse_args(arguments)
    # Imported late: `dragoman --help` needs no model code.
    from dragoman.hub.files import ModelNotFoundError

    try:
        status: int = options.run(options)
    except ModelNotFoundError as error:
        print(f"dragoman: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return status
