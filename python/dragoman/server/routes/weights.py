"""What a trainer does with a running engine: pause it, change its weights, let it go on.

Names and answers are vLLM's, which has these routes in its development mode; `/update_weights_from_disk` is SGLang's.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import TYPE_CHECKING, Any, get_args

from fastapi import APIRouter, Request
from fastapi.responses import Response

from dragoman.engine.config import PauseMode
from dragoman.engine.errors import EngineError
from dragoman.server.body import read_body
from dragoman.server.errors import ApiError
from dragoman.server.services import Services

if TYPE_CHECKING:
    from dragoman.engine import Engine

MODES: dict[str, PauseMode] = {mode: mode for mode in get_args(PauseMode)}
BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def router(services: Services, engine: Engine) -> APIRouter:
    """`/pause`, `/resume`, `/is_paused`, `/reset_prefix_cache` and `/update_weights_from_disk`."""
    routes = APIRouter(tags=["weights"])
    limit = services.model.config.bounds.body_bytes
    # One at a time: two would hold the weights three times.
    updating = asyncio.Lock()
    updates = itertools.count(1)

    @routes.post("/pause")
    async def pause(request: Request) -> dict[str, str]:
        """Stands still when it answers. `mode`: `abort` ends what runs (the default), `wait` finishes it, `keep`
        freezes it until `/resume`. `clear_cache` (true) drops the prefix cache, except with `keep`.
        """
        mode = MODES.get(request.query_params.get("mode", "abort"))
        if mode is None:
            raise ApiError("validation", f"mode must be one of {', '.join(MODES)}", "mode")
        if flag(request, "wait_for_inflight_requests", default=False):
            mode = "wait"
        clear = flag(request, "clear_cache", default=True)
        await asyncio.wrap_future(engine.pause(mode))
        if clear and mode != "keep":
            await asyncio.wrap_future(engine.reset_prefix_cache())
        return {"status": "paused"}

    @routes.post("/resume")
    async def resume() -> dict[str, str]:
        """Goes on after `/pause`."""
        await asyncio.wrap_future(engine.resume())
        return {"status": "resumed"}

    @routes.get("/is_paused")
    async def is_paused() -> dict[str, bool]:
        """Whether the engine stands still."""
        return {"is_paused": engine.is_paused}

    @routes.post("/reset_prefix_cache")
    async def reset_prefix_cache() -> Response:
        """Forgets the cached blocks; requests that run keep theirs."""
        await asyncio.wrap_future(engine.reset_prefix_cache())
        return Response(status_code=200)

    @routes.post("/update_weights_from_disk")
    async def update_weights_from_disk(request: Request) -> dict[str, Any]:
        """`{"model_path": DIRECTORY, "weight_version": LABEL}`: other weights of the same shape, between two
        steps. Requests that run go on with them; each answer says which weights made which tokens.
        """
        body = json_object(await read_body(request.scope, request.receive, limit))
        path = text(body, "model_path") or text(body, "path")
        if path is None:
            raise ApiError("validation", "model_path must be given", "model_path")
        async with updating:
            version = text(body, "weight_version") or text(body, "version") or str(next(updates))
            try:
                changed = await asyncio.to_thread(engine.update_weights, path, version)
                await asyncio.wrap_future(changed)
            except (EngineError, OSError, ValueError, KeyError) as error:
                # The old weights are still there.
                message = f"the weights at {path} cannot be used: {error}"
                raise ApiError("bad_request", message, "model_path") from None
        return {"success": True, "message": "the weights are updated", "weight_version": version}

    return routes


def flag(request: Request, name: str, *, default: bool) -> bool:
    """A boolean of the query. Raises ApiError."""
    given = request.query_params.get(name)
    if given is None:
        return default
    value = BOOLEANS.get(given.lower())
    if value is None:
        raise ApiError("validation", f"{name} must be true or false", name)
    return value


def json_object(body: bytes) -> dict[str, Any]:
    """The object in a body. Raises ApiError."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ApiError("validation", f"JSON decode error: {error}") from None
    if not isinstance(value, dict):
        raise ApiError("validation", "the body must be a JSON object")
    return value


def text(body: dict[str, Any], name: str) -> str | None:
    """A string of the body that is not empty, or nothing. Raises ApiError."""
    value = body.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or not value or "\0" in value:
        raise ApiError("validation", f"{name} must be a string that is not empty", name)
    return value
