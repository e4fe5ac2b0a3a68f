"""Where downloaded models and converted vocabularies are kept."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path


def cache_directory() -> Path:
    """`$DRAGOMAN_CACHE`, else `$XDG_CACHE_HOME/dragoman`, else `~/.cache/dragoman`. It may not exist yet."""
    own = os.environ.get("DRAGOMAN_CACHE")
    if own:
        return Path(own)
    shared = os.environ.get("XDG_CACHE_HOME")
    return (Path(shared) if shared else Path.home() / ".cache") / "dragoman"


def build_once(target: Path, build: Callable[[Path], None]) -> Path:
    """The directory `target`, made by `build(empty directory)` where it does not exist.

    Several processes may do so at once: each builds beside the target and the first rename wins, so a
    reader never sees half a directory. Where the cache cannot be written, the result is in a temporary
    directory that outlives the call.
    """
    if target.is_dir():
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    except OSError:
        work = Path(tempfile.mkdtemp(prefix="dragoman-"))
        build(work)
        return work
    try:
        build(work)
        work.chmod(0o755)
        try:
            work.rename(target)
        except OSError:
            # Another process was faster; what it made is the same.
            if not target.is_dir():
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return target
