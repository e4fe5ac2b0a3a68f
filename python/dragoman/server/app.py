"""Builds the application from its services: which routes a mode has, and what wraps them."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.routing import Route

from dragoman import _core
from dragoman.server.asgi import Application, HeadAsGet, route_path
from dragoman.server.auth import KeyGuard
from dragoman.server.errors import ApiError, error_body, error_status, error_value
from dragoman.server.metrics import Observer
from dragoman.server.openapi import describe_routes
from dragoman.server.request_log import RequestLog
from dragoman.server.routes import (
    abort,
    derender,
    generate,
    health,
    models,
    openai,
    render,
    tokenize,
    weights,
)
from dragoman.server.services import Services


def build_app(services: Services) -> Application:
    """The whole application: authentication inside, metrics around it."""
    raw, routers = _raw_routes(services), _routers(services)
    app: Application = HeadAsGet(_api(services, raw, routers))
    if services.options.api_keys:
        app = KeyGuard(app, services.options.api_keys)
    if services.options.log_requests:
        app = RequestLog(app, services.options.max_log_len)
    plain = (route for router in routers for route in router.routes if isinstance(route, Route))
    return Observer(app, services.metrics, frozenset(route.path for route in (*raw, *plain)))


def _api(services: Services, raw: list[Route], routers: list[APIRouter]) -> FastAPI:
    app = FastAPI(
        title="Dragoman",
        version=_core.__version__,
        description="Render, generate, derender: JSON messages on one side, token ids on the other.",
        root_path=services.options.root_path,
        lifespan=lambda _: _lifespan(services),
    )
    # Before FastAPI's own, so that the hot paths are found first.
    app.router.routes[:0] = raw
    for router in routers:
        app.include_router(router)
    app.add_exception_handler(ApiError, _answer_api_error)
    app.add_exception_handler(HTTPException, _answer_http_exception)
    describe_routes(app, {route.path for route in raw}, json.loads(_core.request_schemas()))
    return app


def _raw_routes(services: Services) -> list[Route]:
    """The routes that the mode has, as DESIGN's table of commands says."""
    found = tokenize.routes(services)
    if services.options.scale_out:
        found += render.routes(services) + derender.routes(services)
        if services.engine is not None:
            found += generate.routes(services)
    if services.options.mode == "serve":
        found += openai.routes(services)
    return found


def _routers(services: Services) -> list[APIRouter]:
    """The routes that are not hot."""
    found = [health.router(services), models.router(services)]
    if services.engine is not None and services.options.scale_out:
        dedicated = services.options.mode == "tokens-only"
        found.append(abort.router(services, development=dedicated))
        if services.options.trainer:
            found.append(weights.router(services, services.engine))
    return found


@asynccontextmanager
async def _lifespan(services: Services) -> AsyncGenerator[None, None]:
    engine = services.engine
    if engine is not None:
        engine.start()
    try:
        yield
    finally:
        if engine is not None:
            engine.shutdown()
        services.workers.close()
        if services.grammars is not None:
            services.grammars.close()


async def _answer_api_error(_request: Request, error: Exception) -> Response:
    if not isinstance(error, ApiError):
        raise error
    value: dict[str, Any] = error_value(error.kind, error.message, error.param)
    return JSONResponse(value, status_code=error_status(error.kind))


async def _answer_http_exception(request: Request, error: Exception) -> Response:
    """404 and 405 of the router, in the API's error shape."""
    if not isinstance(error, HTTPException):
        raise error
    phrase = HTTPStatus(error.status_code).phrase
    value = error_body(error.status_code, phrase, error.detail, path=route_path(request.scope))
    return JSONResponse(value, status_code=error.status_code, headers=error.headers)
