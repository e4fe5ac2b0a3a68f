"""The render step: OpenAI and Anthropic requests -> generate requests."""

from __future__ import annotations

from starlette.routing import Route

from dragoman.server.routes.core import answering, core_routes
from dragoman.server.services import Services


def routes(services: Services) -> list[Route]:
    core = services.renderer
    renders = {
        "chat/completions": core.chat,
        "completions": core.completions,
        "messages": core.messages,
        "responses": core.responses,
    }
    timed = services.metrics.timed
    calls = {
        f"/v1/{name}/render": answering(timed(services.served_name, name.partition("/")[0], render))
        for name, render in renders.items()
    }
    return core_routes(services, calls)
