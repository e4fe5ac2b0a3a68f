"""A progress bar on stderr for what takes seconds: shown to a person, silent in a log."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# Gets how much is done and how much there is.
Progress = Callable[[int, int], None]


@contextmanager
def progress_bar(title: str, *, in_bytes: bool = False) -> Iterator[Progress]:
    """A bar while the block runs, where stderr is a terminal and rich is installed."""
    if not sys.stderr.isatty():
        yield _silent
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, TextColumn
        from rich.progress import Progress as Bar
    except ImportError:
        yield _silent
        return
    count = DownloadColumn() if in_bytes else MofNCompleteColumn()
    bar = Bar(
        TextColumn("{task.description}"), BarColumn(), count, console=Console(file=sys.stderr), transient=True
    )
    with bar:
        task = bar.add_task(title, total=None, visible=False)

        def show(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total, visible=True)

        yield show


def _silent(_done: int, _total: int) -> None:
    return
