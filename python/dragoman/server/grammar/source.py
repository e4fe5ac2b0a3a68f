"""``structured_outputs`` of the wire -> llguidance's grammar, as text."""

from __future__ import annotations

import json
from typing import Any

from llguidance import LLMatcher
from llguidance.gbnf_to_lark import any_to_lark

from dragoman.server.errors import ApiError
from dragoman.server.grammar.literal import Literals
from dragoman.server.grammar.schema import JsonStyle, json_grammar
from dragoman.server.grammar.structural_tag import structural_tag_grammar

# Most characters of each kind. A chain of references in a grammar takes stack and time that grow with its
# length, a regex time that grows with the square of it.
MAX_CHARACTERS = {
    "json": 512 * 1024,
    "structural_tag": 512 * 1024,
    "choice": 256 * 1024,
    "grammar": 32 * 1024,
    "regex": 8 * 1024,
}


def grammar_source(asked: dict[str, Any], literals: Literals) -> tuple[str, str]:
    """The grammar's text, and the field it came from. Raises ApiError for what is too long or no grammar."""
    style = JsonStyle(
        bool(asked.get("disable_any_whitespace")),
        bool(asked.get("disable_additional_properties")),
        asked.get("whitespace_pattern"),
    )
    for kind in ("json", "regex", "choice", "grammar", "structural_tag"):
        value = asked.get(kind)
        if value is not None:
            _check_length(kind, value)
            return _write(kind, value, literals, style), kind
    if asked.get("json_object"):
        return _lark_of_schema({"type": "object"}, style, "json_object"), "json_object"
    raise ApiError("bad_request", "structured_outputs asks for no grammar", "structured_outputs")


def _write(kind: str, value: Any, literals: Literals, style: JsonStyle) -> str:
    if kind == "json":
        return _lark_of_schema(value, style, kind)
    if kind == "regex":
        return LLMatcher.grammar_from_regex(value)
    if kind == "choice":
        # Not through `Literals`: a choice is what a user reads, and no marker.
        return "start: " + " | ".join(json.dumps(item, ensure_ascii=False) for item in value)
    if kind == "grammar":
        try:
            return any_to_lark(value)
        except RecursionError:
            raise ApiError("bad_request", "grammar is nested too deeply", kind) from None
        except Exception as error:
            # The converter raises plain exceptions.
            raise ApiError("bad_request", f"grammar is neither Lark nor GBNF: {error}", kind) from None
    return structural_tag_grammar(value, literals, style)


def _lark_of_schema(schema: Any, style: JsonStyle, kind: str) -> str:
    return f"start: %json {json_grammar(schema, style, kind)}"


def _check_length(kind: str, value: Any) -> None:
    if isinstance(value, str):
        length = len(value)
    elif kind == "choice":
        length = sum(map(len, value)) + 4 * len(value)
    else:
        try:
            length = len(json.dumps(value))
        except RecursionError:
            raise ApiError("bad_request", f"{kind} is nested too deeply", kind) from None
    limit = MAX_CHARACTERS[kind]
    if length > limit:
        raise ApiError("bad_request", f"{kind} has {length} characters, more than {limit}", kind)
