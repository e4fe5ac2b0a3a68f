"""The derender step: generate responses -> OpenAI responses, whole or chunk by chunk."""

from __future__ import annotations

from starlette.routing import Route

from dragoman.server.endpoint import Answer
from dragoman.server.routes.core import core_routes
from dragoman.server.services import Services

# Without a chat request the server's parsers do not run, and a client should be able to tell.
NOT_PARSED = ((b"x-dragoman-parsed", b"false"),)


def routes(services: Services) -> list[Route]:
    core = services.derenderer
    calls = {
        # Derendering needs no id of its own: the answer has that of the generate response.
        "/v1/chat/completions/derender": lambda body, _: _answer(core.chat(body)),
        "/v1/completions/derender": lambda body, _: _answer(core.completions(body)),
    }
    return core_routes(services, calls)


def _answer(reply: tuple[bytes, bool]) -> Answer:
    body, parsed = reply
    return Answer(body, () if parsed else NOT_PARSED)
