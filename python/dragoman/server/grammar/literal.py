"""Texts in a Lark grammar as llguidance reads it."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text: an added token where ``token`` is set, else plain text."""

    text: str
    token: int | None = None

    @property
    def lark(self) -> str:
        """The piece as a Lark term."""
        if self.token is not None:
            return f"<[{self.token}]>"
        return json.dumps(self.text, ensure_ascii=False)


class Literals:
    """Splits texts at a tokenizer's added tokens.

    A marker such as ``<tool_call>`` must be written as its own token: models know no other form, and parsers
    find markers by their ids.
    """

    def __init__(self, added_tokens: Mapping[str, int], text_tokens: Collection[int] = ()) -> None:
        """``text_tokens`` are those added tokens that a model may write as part of a text, such as tags."""
        self._ids = dict(added_tokens)
        self._text_tokens = frozenset(text_tokens)
        longest_first = sorted(filter(None, self._ids), key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def pieces(self, text: str) -> list[Piece]:
        """The parts of a text in order; none of them is empty."""
        found: list[Piece] = []
        end = 0
        for match in self._pattern.finditer(text) if self._pattern is not None else ():
            if match.start() > end:
                found.append(Piece(text[end : match.start()]))
            found.append(Piece(match.group(), self._ids[match.group()]))
            end = match.end()
        if end < len(text):
            found.append(Piece(text[end:]))
        return found

    def leading(self, text: str, begin: str) -> list[Piece]:
        """The parts of ``text`` that cover ``begin``, with which it begins. A token that reaches beyond stays whole."""
        found: list[Piece] = []
        missing = len(begin)
        for piece in self.pieces(text):
            if missing <= 0:
                break
            found.append(piece if piece.token is not None else Piece(piece.text[:missing]))
            missing -= len(found[-1].text)
        return found

    def text_tokens(self, excluded: Collection[str]) -> str:
        """The tokens that may stand in free text, as one Lark term; empty where there are none."""
        kept = sorted(self._text_tokens - {self._ids.get(text, -1) for text in excluded})
        runs: list[tuple[int, int]] = []
        for token in kept:
            if runs and runs[-1][1] == token - 1:
                runs[-1] = (runs[-1][0], token)
            else:
                runs.append((token, token))
        return f"<[{','.join(f'{first}-{last}' for first, last in runs)}]>" if runs else ""

    def lark(self, text: str) -> str:
        """A text as Lark terms in a row; the empty text is an empty string."""
        return " ".join(piece.lark for piece in self.pieces(text)) or '""'
