"""/tokenize and /detokenize."""

from __future__ import annotations

from starlette.routing import Route

from dragoman.server.endpoint import CoreEndpoint
from dragoman.server.services import Services


def routes(services: Services) -> list[Route]:
    core = services.renderer
    calls = {
        "/tokenize": lambda body, _id: core.tokenize(body),
        "/detokenize": lambda body, _id: core.detokenize(body),
    }
    limit = services.model.config.bounds.body_bytes
    return [
        Route(path, CoreEndpoint(call, services.workers, limit), methods=["POST"]) for path, call in calls.items()
    ]
