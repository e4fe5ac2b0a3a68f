"""/tokenize and /detokenize."""

from __future__ import annotations

from starlette.routing import Route

from dragoman.server.endpoint import Answer
from dragoman.server.routes.core import core_routes
from dragoman.server.services import Services


def routes(services: Services) -> list[Route]:
    core = services.renderer
    calls = {
        "/tokenize": lambda body, _: Answer(core.tokenize(body)),
        "/detokenize": lambda body, _: Answer(core.detokenize(body)),
    }
    return core_routes(services, calls)
