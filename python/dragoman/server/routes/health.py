"""Life signs: /health, /ping, /version, /load, /metrics."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST

from dragoman import _core
from dragoman.server.errors import error_value
from dragoman.server.services import Services


def router(services: Services) -> APIRouter:
    routes = APIRouter(tags=["health"])
    # The body is empty as vLLM's is, so what slows this server down is told in a header.
    fallback = services.model.template_engine == "jinja2"
    detail = {"x-dragoman-template-engine": "jinja2"} if fallback else {}

    @routes.get("/health", responses={503: {"description": "The engine has stopped or is stuck"}})
    async def health() -> Response:
        """200 with an empty body while requests can be served."""
        engine = services.engine
        if engine is not None and not engine.is_healthy:
            return JSONResponse(error_value("unavailable", "the engine is not running"), status_code=503)
        return Response(status_code=200, headers=detail)

    @routes.get("/ping")
    @routes.post("/ping")
    async def ping() -> Response:
        """The same as /health, under the name that SageMaker asks for."""
        return await health()

    @routes.get("/version")
    async def version() -> dict[str, str]:
        """The version of this server."""
        return {"version": _core.__version__}

    @routes.get("/load")
    async def load() -> dict[str, int]:
        """How many generating requests are being served."""
        return {"server_load": services.metrics.load}

    @routes.get("/metrics", include_in_schema=False)
    async def metrics() -> Response:
        return Response(services.metrics.page(), media_type=CONTENT_TYPE_LATEST)

    return routes
