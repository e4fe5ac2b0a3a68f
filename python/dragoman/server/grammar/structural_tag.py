"""Structural tags: free text in which marked parts follow a grammar. Here they become one Lark grammar.

The forms are xgrammar's, which vLLM's ``structural_tag`` takes: a tree of ``format`` objects, and the older
``structures`` with ``triggers``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from llguidance import regex_to_lark
from llguidance.gbnf_to_lark import any_to_lark

from dragoman.server.errors import ApiError
from dragoman.server.grammar.literal import Literals, Piece
from dragoman.server.grammar.schema import JsonStyle, json_grammar

PARAM = "structural_tag"
ANY_TEXT = r"/(.|\n)*/"
MAX_FORMATS = 4096
"""Most format objects in a tag."""


def structural_tag_grammar(text: str, literals: Literals, style: JsonStyle) -> str:
    """llguidance's grammar of a structural tag, given as JSON text. Raises ApiError."""
    try:
        value = json.loads(text)
        return _Writer(literals, style).grammar(value)
    except ApiError:
        raise
    except RecursionError:
        raise _refused("structural_tag is nested too deeply") from None
    except Exception as error:
        # Converters of nested grammars raise what they please.
        raise _refused(f"structural_tag cannot be read: {error}") from None


class _Writer:
    """Writes rules while it walks the tree; each format becomes the name of a rule."""

    def __init__(self, literals: Literals, style: JsonStyle) -> None:
        self._literals = literals
        self._style = style
        self._rules: list[str] = []
        self._grammars: list[dict[str, str]] = []
        self._count = 0
        self._writers: dict[str, Callable[[dict[str, Any]], str]] = {
            "const_string": lambda found: self._literals.lark(_text(found, "value")),
            "json_schema": self._json_schema,
            "regex": lambda found: f"/{regex_to_lark(_text(found, 'pattern'))}/",
            "grammar": self._grammar,
            "any_text": lambda found: " ".join(self._free_text(found)),
            "sequence": lambda found: " ".join(self._all(found, "elements")),
            "or": lambda found: " | ".join(self._all(found, "elements")),
            "tag": self._tag,
            "triggered_tags": self._triggered_tags,
            "tags_with_separator": self._tags_with_separator,
        }

    def grammar(self, value: Any) -> str:
        if isinstance(value, dict) and "structures" in value:
            tags = [
                {
                    "begin": _text(item, "begin"),
                    "content": {"type": "json_schema", "json_schema": item.get("schema") or {}},
                    "end": _text(item, "end"),
                }
                for item in _objects(value, "structures")
            ]
            value = {"format": {"type": "triggered_tags", "triggers": value.get("triggers"), "tags": tags}}
        start = self._format(_object(value, "format"))
        lark = "\n".join([f"%llguidance {{}}\nstart: {start}", *self._rules])
        grammars = [{"name": "structural_tag", "lark_grammar": lark}, *self._grammars]
        return json.dumps({"grammars": grammars}, ensure_ascii=False)

    def _format(self, found: dict[str, Any]) -> str:
        kind = found.get("type")
        write = self._writers.get(kind) if isinstance(kind, str) else None
        if write is None:
            known = ", ".join(self._writers)
            raise _refused(f"structural_tag has a format of type {str(kind)[:40]!r}; known are {known}")
        return self._rule(write(found))

    def _rule(self, body: str, *, name: str = "rule", attributes: str = "") -> str:
        self._count += 1
        if self._count > MAX_FORMATS:
            raise _refused(f"structural_tag has more than {MAX_FORMATS} parts")
        name = f"{name}_{self._count}"
        self._rules.append(f"{name}{attributes}: {body}")
        return name

    def _all(self, found: dict[str, Any], key: str) -> list[str]:
        items = _objects(found, key)
        if not items:
            raise _refused(f"structural_tag has an empty list of {key}")
        return [self._format(item) for item in items]

    def _json_schema(self, found: dict[str, Any]) -> str:
        if found.get("style", "json") != "json":
            raise _refused(
                f"structural_tag: json_schema of style {str(found['style'])[:40]!r} is not supported"
            )
        style = self._style
        if found.get("max_whitespace_cnt") == 0:
            style = style._replace(disable_any_whitespace=True)
        return f"%json {json_grammar(found.get('json_schema', {}), style, PARAM)}"

    def _grammar(self, found: dict[str, Any]) -> str:
        name = f"grammar_{len(self._grammars)}"
        self._grammars.append({"name": name, "lark_grammar": any_to_lark(_text(found, "grammar"))})
        return f"@{name}"

    def _free_text(self, found: dict[str, Any], until: list[Piece] | None = None) -> tuple[str, str]:
        """Text without the excluded strings and, so that they are met, without ``until``.

        It is a term for all up to its last added token, which may be empty, and the terminal of what follows.
        """
        excluded = [text for text in _texts(found, "excludes") if text]
        met = until or []
        either = "|".join(
            re.escape(text).replace("/", "\\/").replace("\n", "\\n")
            for text in [*excluded, *(piece.text for piece in met if piece.token is None)]
        )
        body = rf"{ANY_TEXT} & ~/(.|\n)*({either})(.|\n)*/" if either else ANY_TEXT
        text = self._rule(body, name="TEXT")
        tokens = self._literals.text_tokens([*excluded, *(piece.text for piece in met)])
        return (f"({text} {tokens})*" if tokens else ""), text

    def _tag(self, found: dict[str, Any]) -> str:
        return f"{self._literals.lark(_text(found, 'begin'))} {self._rest(found)}"

    def _rest(self, tag: dict[str, Any]) -> str:
        """What follows the beginning of a tag."""
        ends = [tag["end"]] if isinstance(tag.get("end"), str) else _texts(tag, "end")
        content = _object(tag, "content")
        if content.get("type") == "any_text":
            until = [pieces[0] for pieces in map(self._literals.pieces, ends) if pieces]
            body = " ".join(self._free_text(content, until))
        else:
            body = self._format(content)
        closing = " | ".join(self._literals.lark(end) for end in ends) or '""'
        return f"{body} ({closing})"

    def _triggered_tags(self, found: dict[str, Any]) -> str:
        """Free text; behind a trigger only what one of its tags has there."""
        triggers = [trigger for trigger in _texts(found, "triggers") if trigger]
        options: dict[tuple[Piece, ...], list[str]] = {}
        for tag in _objects(found, "tags"):
            begin = _text(tag, "begin")
            trigger = max((item for item in triggers if begin.startswith(item)), key=len, default=None)
            if trigger is None:
                raise _refused(f"structural_tag: no trigger begins {begin[:80]!r}")
            met = tuple(self._literals.leading(begin, trigger))
            rest = begin[sum(len(piece.text) for piece in met) :]
            following = f"{self._literals.lark(rest) if rest else ''} {self._rest(tag)}"
            options.setdefault(met, []).append(following)
        if not options:
            raise _refused("structural_tag has no tags for its triggers")
        # Plain triggers end the text by being lazy: only their tokens must be kept out of it.
        tokens = [met[0] for met in options if met[0].token is not None]
        before, text = self._free_text(found, tokens)
        parts = [f"{before} {self._until(text, met)} ({' | '.join(rests)})" for met, rests in options.items()]
        part = self._rule(" | ".join(parts))
        text = f"{before} {text}"
        if found.get("stop_after_first"):
            return part if found.get("at_least_one") else f"{part} | {text}"
        return f"{part}{'+' if found.get('at_least_one') else '*'} {text}"

    def _until(self, text: str, met: tuple[Piece, ...]) -> str:
        """Free text up to and with a trigger."""
        if met[0].token is not None:
            # A token of its own ends free text by itself.
            return " ".join([text, *(piece.lark for piece in met)])
        first = self._rule(f"{text} {met[0].lark}", name="trigger", attributes="[lazy]")
        return " ".join([first, *(piece.lark for piece in met[1:])])

    def _tags_with_separator(self, found: dict[str, Any]) -> str:
        tag = self._rule(" | ".join(self._rule(self._tag(item)) for item in _objects(found, "tags")))
        separator = found.get("separator", "")
        if not isinstance(separator, str):
            raise _refused("structural_tag: separator must be a string")
        more = "" if found.get("stop_after_first") else f" ({self._literals.lark(separator)} {tag})*"
        body = f"{tag}{more}"
        return body if found.get("at_least_one") else f"({body})?"


def _refused(message: str) -> ApiError:
    return ApiError("bad_request", message, PARAM)


def _object(found: Any, key: str) -> dict[str, Any]:
    value = found.get(key) if isinstance(found, dict) else None
    if not isinstance(value, dict):
        raise _refused(f"structural_tag needs an object {key!r}")
    return value


def _objects(found: dict[str, Any], key: str) -> list[dict[str, Any]]:
    value = found.get(key)
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise _refused(f"structural_tag needs a list {key!r} of objects")
    return value


def _text(found: dict[str, Any], key: str) -> str:
    value = found.get(key)
    if not isinstance(value, str):
        raise _refused(f"structural_tag needs a string {key!r}")
    return value


def _texts(found: dict[str, Any], key: str) -> list[str]:
    value = found.get(key) or []
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise _refused(f"structural_tag: {key!r} must be a list of strings")
    return value
