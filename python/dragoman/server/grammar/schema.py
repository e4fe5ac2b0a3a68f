"""JSON schemas, as llguidance's ``%json`` reads them."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from dragoman.server.errors import ApiError

# Keywords whose values are schemas by name, and those whose values are schemas or lists of them.
NAMED_SCHEMAS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
SCHEMAS = (
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "contains",
    "items",
    "prefixItems",
    "additionalItems",
    "not",
    "if",
    "then",
    "else",
    "allOf",
    "anyOf",
    "oneOf",
)


class JsonStyle(NamedTuple):
    """How JSON is to be written; the names are those of ``structured_outputs``."""

    disable_any_whitespace: bool = False
    disable_additional_properties: bool = False
    whitespace_pattern: str | None = None

    def options(self) -> dict[str, Any]:
        """llguidance's options. Of ``oneOf`` some one branch holds, as in vLLM's default backend."""
        found: dict[str, Any] = {
            "whitespace_flexible": not self.disable_any_whitespace,
            "coerce_one_of": True,
        }
        if self.whitespace_pattern is not None and not self.disable_any_whitespace:
            found["whitespace_pattern"] = self.whitespace_pattern
        return found


def json_grammar(schema: Any, style: JsonStyle, param: str) -> str:
    """A schema, as a value or as JSON text, with its options inside: what follows ``%json``. Raises ApiError."""
    if isinstance(schema, str):
        try:
            schema = json.loads(schema)
        except (ValueError, RecursionError) as error:
            raise ApiError("bad_request", f"{param} is not JSON: {error}", param) from None
    if schema is True:
        schema = {}
    if not isinstance(schema, dict):
        raise ApiError("bad_request", f"{param} must be a JSON schema, which is an object", param)
    try:
        if style.disable_additional_properties:
            schema = _closed(schema)
        given = schema.get("x-guidance")
        options = {**style.options(), **(given if isinstance(given, dict) else {})}
        return json.dumps({**schema, "x-guidance": options}, ensure_ascii=False)
    except RecursionError:
        raise ApiError("bad_request", f"{param} is nested too deeply", param) from None


def _closed(schema: Any) -> Any:
    """The schema, with no properties beside the named ones wherever it does not say otherwise."""
    if isinstance(schema, list):
        return [_closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = dict(schema)
    for key in NAMED_SCHEMAS:
        if isinstance(schema.get(key), dict):
            closed[key] = {name: _closed(inner) for name, inner in schema[key].items()}
    for key in SCHEMAS:
        if key in schema:
            closed[key] = _closed(schema[key])
    if isinstance(schema.get("properties"), dict) or isinstance(schema.get("patternProperties"), dict):
        closed.setdefault("additionalProperties", False)
    return closed
