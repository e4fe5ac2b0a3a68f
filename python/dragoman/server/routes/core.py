"""Routes that a method of the core answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from starlette.routing import Route

from dragoman.server.endpoint import CoreEndpoint
from dragoman.server.services import Services


def core_routes(services: Services, calls: Mapping[str, Callable[[bytes, str | None], bytes]]) -> list[Route]:
    """A POST route for each path; the calls get the body and the client's own id of the request."""
    limit = services.model.config.bounds.body_bytes
    return [
        Route(path, CoreEndpoint(call, services.workers, limit), methods=["POST"])
        for path, call in calls.items()
    ]
