"""Routes that a method of the core answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from starlette.routing import Route

from dragoman.server.endpoint import Answer, Call, CoreEndpoint
from dragoman.server.services import Services


def answering(call: Callable[[bytes, str | None], bytes]) -> Call:
    """A method that gives a body, as one that gives an answer."""
    return lambda body, request_id: Answer(call(body, request_id))


def core_routes(services: Services, calls: Mapping[str, Call]) -> list[Route]:
    """A POST route for each path."""
    limit = services.model.config.bounds.body_bytes
    return [
        Route(path, CoreEndpoint(call, services.workers, limit), methods=["POST"])
        for path, call in calls.items()
    ]
