"""The render step: OpenAI and Anthropic requests -> generate requests."""

from __future__ import annotations

from starlette.routing import Route

from dragoman.server.routes.core import answering, core_routes
from dragoman.server.services import Services


def routes(services: Services) -> list[Route]:
    core = services.renderer
    calls = {
        "/v1/chat/completions/render": answering(core.chat),
        "/v1/completions/render": answering(core.completions),
        "/v1/messages/render": answering(core.messages),
        "/v1/responses/render": answering(core.responses),
    }
    return core_routes(services, calls)
