"""Shows the raw routes on the OpenAPI page, from the schemas that the core generates."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI


def describe_routes(app: FastAPI, paths: set[str], schemas: dict[str, Any]) -> None:
    """Adds the raw routes that `app` has to its OpenAPI description.

    `schemas` is what `_core.request_schemas` gives: the schemas of `request` and `response` for each path.
    """
    generated = app.openapi

    def openapi() -> dict[str, Any]:
        page = generated()
        if "x-dragoman" in page:
            return page
        for path in sorted(paths):
            page.setdefault("paths", {})[path] = {"post": _operation(path, schemas.get(path, {}))}
        known = page.setdefault("components", {}).setdefault("schemas", {})
        known.setdefault("ErrorResponse", ERROR_SCHEMA)
        page["x-dragoman"] = "raw routes added"
        return page

    # FastAPI calls the attribute of the instance; it documents replacing it.
    app.openapi = openapi  # type: ignore[method-assign]


ERROR_SCHEMA = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "type", "code"],
            "properties": {
                "message": {"type": "string"},
                "type": {"type": "string"},
                "param": {"type": ["string", "null"]},
                "code": {"type": "integer"},
            },
        }
    },
}


def _operation(path: str, shapes: dict[str, Any]) -> dict[str, Any]:
    def content(schema: Any) -> dict[str, Any]:
        return {"application/json": {"schema": schema if schema is not None else {}}}

    error = {"description": "Refused", "content": content({"$ref": "#/components/schemas/ErrorResponse"})}
    return {
        "operationId": path.strip("/").replace("/", "_"),
        "tags": [path.rsplit("/", 1)[-1]],
        "requestBody": {"required": True, "content": content(shapes.get("request"))},
        "responses": {
            "200": {"description": "Answered", "content": content(shapes.get("response"))},
            **dict.fromkeys(("400", "404", "413"), error),
        },
    }
