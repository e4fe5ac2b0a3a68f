"""The derender step: generate responses -> OpenAI responses, whole or chunk by chunk."""

from __future__ import annotations

from starlette.routing import Route

from dragoman.server.routes.core import core_routes
from dragoman.server.services import Services


def routes(services: Services) -> list[Route]:
    core = services.derenderer
    calls = {
        # Derendering needs no id of its own: the answer has that of the generate response.
        "/v1/chat/completions/derender": lambda body, _id: core.chat(body),
        "/v1/completions/derender": lambda body, _id: core.completions(body),
    }
    return core_routes(services, calls)
