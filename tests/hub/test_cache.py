"""Directories in the cache appear whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.hub.cache import build_once, cache_directory


def test_it_is_built_once(tmp_path: Path) -> None:
    calls: list[Path] = []

    def build(work: Path) -> None:
        calls.append(work)
        (work / "file").write_text("x")

    target = tmp_path / "deep" / "target"
    assert build_once(target, build) == target
    assert build_once(target, build) == target
    assert len(calls) == 1
    assert [entry.name for entry in target.parent.iterdir()] == ["target"]


def test_a_failed_build_leaves_nothing(tmp_path: Path) -> None:
    def fail(work: Path) -> None:
        (work / "half").write_text("x")
        raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        build_once(tmp_path / "target", fail)
    assert list(tmp_path.iterdir()) == []


def test_the_slower_of_two_builders_takes_the_result_of_the_faster(tmp_path: Path) -> None:
    target = tmp_path / "target"

    def overtaken(work: Path) -> None:
        target.mkdir()
        (target / "file").write_text("first")
        (work / "file").write_text("second")

    assert (build_once(target, overtaken) / "file").read_text() == "first"
    assert [entry.name for entry in tmp_path.iterdir()] == ["target"]


def test_the_environment_chooses_the_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    monkeypatch.delenv("DRAGOMAN_CACHE", raising=False)
    assert cache_directory() == Path("/x/dragoman")
    monkeypatch.setenv("DRAGOMAN_CACHE", "/y")
    assert cache_directory() == Path("/y")
