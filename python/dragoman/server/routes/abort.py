"""Aborts running requests by their ids."""

from __future__ import annotations

import json

from fastapi import APIRouter, Request
from fastapi.responses import Response

from dragoman.server.body import read_body
from dragoman.server.errors import ApiError
from dragoman.server.services import Services


def router(services: Services, *, development: bool) -> APIRouter:
    """`/inference/v1/abort_requests`, and with `development` also `/abort_requests`."""
    routes = APIRouter(tags=["generate"])
    paths = ["/inference/v1/abort_requests", *(["/abort_requests"] if development else [])]
    limit = services.model.config.bounds.body_bytes

    async def abort(request: Request) -> Response:
        """`{"request_ids": [...]}`, or one id: ids that are not running are passed over."""
        ids = request_ids(await read_body(request.scope, request.receive, limit))
        if services.engine is not None:
            services.engine.abort(services.running.abort(ids))
        return Response(status_code=200)

    for path in paths:
        routes.add_api_route(path, abort, methods=["POST"])
    return routes


def request_ids(body: bytes) -> list[str]:
    """The ids in the body. Raises ApiError."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ApiError("validation", f"JSON decode error: {error}") from None
    ids = value.get("request_ids") if isinstance(value, dict) else None
    if ids is None:
        raise ApiError("validation", "Missing 'request_ids' in request body")
    if isinstance(ids, str):
        return [ids]
    if not isinstance(ids, list) or not all(isinstance(item, str) for item in ids):
        raise ApiError("validation", "'request_ids' should be a list of strings", "request_ids")
    return ids
