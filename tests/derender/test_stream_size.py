"""What a client of a stream sends and gets does not grow with the stream, whatever the parser."""

from __future__ import annotations

from pathlib import Path

import pytest
from benches.streams import PARSERS, PLACES, early_and_late


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", PARSERS)
def test_bodies_after_4000_tokens_are_those_after_100(name: str, place: str, tmp_path: Path) -> None:
    chunks = early_and_late(name, place, tmp_path)
    for early, late in (chunks.bodies, chunks.answers):
        assert len(late) <= 1.2 * len(early)
