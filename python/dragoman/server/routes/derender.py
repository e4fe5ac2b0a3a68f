"""The derender step: generate responses -> OpenAI responses, whole or chunk by chunk."""

from __future__ import annotations

from starlette.routing import Route

from dragoman.server.endpoint import CoreEndpoint
from dragoman.server.services import Services


def routes(services: Services) -> list[Route]:
    core = services.derenderer
    calls = {
        # Derendering needs no id of its own: the answer has that of the generate response.
        "/v1/chat/completions/derender": lambda body, _id: core.chat(body),
        "/v1/completions/derender": lambda body, _id: core.completions(body),
    }
    limit = services.model.config.bounds.body_bytes
    return [
        Route(path, CoreEndpoint(call, services.workers, limit), methods=["POST"]) for path, call in calls.items()
    ]
