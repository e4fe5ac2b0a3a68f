"""The generate step: token ids in, token ids out, as JSON or as server-sent events."""

from __future__ import annotations

from starlette.routing import Route

from dragoman.server.endpoint import Events, StreamingEndpoint
from dragoman.server.generation import chunks, complete, parse_call
from dragoman.server.services import Services
from dragoman.server.sse import compact, event, guarded

PATH = "/inference/v1/generate"
ID_PREFIX = "generate-tokens-"


def routes(services: Services) -> list[Route]:
    async def answer(body: bytes, header_id: str | None) -> bytes | Events:
        call = await services.workers.run(
            len(body), lambda: parse_call(services, body, services.generate_config, header_id, ID_PREFIX)
        )
        if not call.stream:
            return compact(await complete(services, call))
        return guarded(event(chunk) async for chunk in chunks(services, call))

    limit = services.model.config.bounds.body_bytes
    return [Route(PATH, StreamingEndpoint(answer, limit), methods=["POST"])]
