"""Writes recorded values."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def write_json(path: Path, value: Any) -> None:
    """One value, indented."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def write_lines(path: Path, cases: Iterable[dict[str, Any]]) -> None:
    """One case to a line. Lone surrogates are escaped, which the encoding needs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(case, ensure_ascii=not _is_encodable(case)) + "\n" for case in cases)
    path.write_text("".join(lines), encoding="utf-8")


def _is_encodable(case: dict[str, Any]) -> bool:
    try:
        json.dumps(case, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
