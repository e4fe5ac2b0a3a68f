"""The shared conformance data: where it is, and how it is read."""

from __future__ import annotations

import json
import os
import tomllib
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"
"""The reference data, which stands beside the repository or not at all."""
OWN = ROOT / "tests" / "fixtures" / "conformance"
"""A slice of such data that is part of the repository: tests.conformance.record makes it."""
FOLDERS = [OWN, *([SHARED / "conformance"] if SHARED.is_dir() else [])]

if os.environ.get("DRAGOMAN_REQUIRE_SHARED") == "1" and not SHARED.is_dir():
    raise RuntimeError(f"DRAGOMAN_REQUIRE_SHARED is 1, and there is no {SHARED}")


def model_path(folder: Path, model: str) -> str:
    """The MODEL for a case of the data in `folder`, one below FOLDERS."""
    return model if folder.is_relative_to(OWN) else str(SHARED / "models" / model)


def case_id(named: tuple[Path, str]) -> str:
    """What the test of a case in a folder below one of FOLDERS is called."""
    folder, name = named
    return f"own-{name}" if folder.is_relative_to(OWN) else name


def json_lines(path: Path) -> list[dict[str, Any]]:
    """The cases of a file, one JSON object to a line."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


class Differences:
    """Cases that are answered otherwise than the reference does, on purpose: a section of differences.toml."""

    def __init__(self, section: str) -> None:
        with (Path(__file__).parent / "differences.toml").open("rb") as file:
            self._reasons: dict[str, str] = tomllib.load(file).get(section, {})

    def reason(self, file: str, case: str) -> str | None:
        """Why the case `case` of `file` differs; None where it must not."""
        name = f"{file}/{case}"
        return next((why for key, why in self._reasons.items() if fnmatchcase(name, key)), None)

    @property
    def keys(self) -> set[str]:
        """The patterns."""
        return set(self._reasons)
