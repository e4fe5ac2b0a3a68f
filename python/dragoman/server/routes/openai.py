"""The coupled endpoints: render, generate and derender in one request."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

from starlette.routing import Route

from dragoman.server.endpoint import Events, StreamingEndpoint
from dragoman.server.generation import GenerateCall, chunks, complete, parse_call
from dragoman.server.services import Services
from dragoman.server.sse import compact, event, guarded

# A method of the core's derenderer: the body, and whether parsers ran.
Derender = Callable[[bytes], tuple[bytes, bool]]


def routes(services: Services) -> list[Route]:
    limit = services.model.config.bounds.body_bytes
    coupled = _Coupled(services)
    return [
        Route("/v1/chat/completions", StreamingEndpoint(coupled.chat, limit), methods=["POST"]),
        Route("/v1/completions", StreamingEndpoint(coupled.completions, limit), methods=["POST"]),
    ]


class _Coupled:
    """The same renderer, engine and derenderer that the three steps use, without HTTP between them."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def chat(self, body: bytes, header_id: str | None) -> bytes | Events:
        """`/v1/chat/completions`."""
        services = self._services
        rendered = await services.workers.run(len(body), lambda: services.renderer.chat(body, header_id))
        call = await self._call(rendered)
        if call.stream:
            deltas = self._deltas([call], b"chat_request", body, services.derenderer.chat)
            return guarded(deltas)
        response = await complete(services, call)
        fields = {"model": call.model, "generate_response": response, **_prompt(call)}
        return await self._derender(services.derenderer.chat, fields, b"chat_request", body)

    async def completions(self, body: bytes, header_id: str | None) -> bytes | Events:
        """`/v1/completions`: one generate request for each prompt, all at once."""
        services = self._services
        render = services.renderer.completions
        rendered = await services.workers.run(len(body), lambda: render(body, header_id))
        calls = [await self._call(compact(request)) for request in json.loads(rendered)]
        if calls[0].stream:
            deltas = self._deltas(calls, b"completion_request", body, services.derenderer.completions)
            return guarded(deltas)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(complete(services, call)) for call in calls]
        fields = {
            "model": calls[0].model,
            "generate_responses": [task.result() for task in tasks],
            "prompt_tokens": [len(call.token_ids) for call in calls],
            "prompt_token_ids": [call.token_ids for call in calls],
        }
        return await self._derender(services.derenderer.completions, fields, b"completion_request", body)

    async def _call(self, rendered: bytes) -> GenerateCall:
        services = self._services
        return await services.workers.run(
            len(rendered), lambda: parse_call(services, rendered, services.config, None, "")
        )

    async def _derender(
        self,
        derender: Derender,
        fields: dict[str, Any],
        name: bytes,
        request: bytes,
    ) -> bytes:
        body = with_request(fields, name, request)
        reply, _ = await self._services.workers.run(len(body), lambda: derender(body))
        return reply

    async def _deltas(
        self,
        calls: list[GenerateCall],
        name: bytes,
        request: bytes,
        derender: Derender,
    ) -> AsyncGenerator[bytes, None]:
        """The chunks of the response, prompt after prompt; states are carried as a client carries them."""
        for number, call in enumerate(calls):
            states: dict[int, Any] = {}
            async with aclosing(chunks(self._services, call)) as stream:
                async for chunk in stream:
                    index = number * call.params.n
                    for choice in chunk["choices"]:
                        index += choice["index"]
                        choice["index"] = index
                    fields = {"stream": True, "model": call.model, "generate_chunk": chunk, **_prompt(call)}
                    fields["stream_state"] = states.get(index)
                    reply = json.loads(await self._derender(derender, fields, name, request))
                    states[index] = reply["stream_state"]
                    yield event(reply["chunk"])


def _prompt(call: GenerateCall) -> dict[str, Any]:
    return {"prompt_tokens": len(call.token_ids), "prompt_token_ids": call.token_ids}


def with_request(fields: dict[str, Any], name: bytes, request: bytes) -> bytes:
    """A derender body whose field `name` is the client's own body: its numbers keep their text."""
    return compact(fields)[:-1] + b',"' + name + b'":' + request + b"}"
