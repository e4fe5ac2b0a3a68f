"""The coupled endpoints: render, generate and derender in one request."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import AsyncGenerator, Callable, Coroutine
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


@dataclasses.dataclass(frozen=True, slots=True)
class _Client:
    """What a client sent: `field` is where a derender request has it, `derender` the core's method."""

    body: bytes
    field: bytes
    derender: Derender


class _Coupled:
    """The same renderer, engine and derenderer that the three steps use, without HTTP between them."""

    def __init__(self, services: Services) -> None:
        self._services = services
        timed, name = services.metrics.timed, services.served_name
        self._render_chat = timed(name, "chat", services.renderer.chat)
        self._render_completions = timed(name, "completions", services.renderer.completions)

    async def chat(self, body: bytes, header_id: str | None) -> bytes | Events:
        """`/v1/chat/completions`."""
        services = self._services
        client = _Client(body, b"chat_request", services.derenderer.chat)
        rendered = await services.workers.run(len(body), lambda: self._render_chat(body, header_id))
        call = await self._call(rendered)
        if call.stream:
            return guarded(self._deltas([call], client))
        response = await complete(services, call)
        return await self._derender(
            client, {"model": call.model, "generate_response": response, **_prompt(call)}
        )

    async def completions(self, body: bytes, header_id: str | None) -> bytes | Events:
        """`/v1/completions`: one generate request for each prompt, all at once."""
        services = self._services
        client = _Client(body, b"completion_request", services.derenderer.completions)
        rendered = await services.workers.run(len(body), lambda: self._render_completions(body, header_id))
        calls = [await self._call(compact(request)) for request in json.loads(rendered)]
        if calls[0].stream:
            return guarded(self._deltas(calls, client))
        responses = await gather([complete(services, call) for call in calls])
        fields = {
            "model": calls[0].model,
            "generate_responses": responses,
            "prompt_tokens": [len(call.token_ids) for call in calls],
            "prompt_token_ids": [call.token_ids for call in calls],
        }
        return await self._derender(client, fields)

    async def _call(self, rendered: bytes) -> GenerateCall:
        services = self._services
        return await services.workers.run(
            len(rendered), lambda: parse_call(services, rendered, services.config, None, "")
        )

    async def _derender(self, client: _Client, fields: dict[str, Any]) -> bytes:
        body = with_request(fields, client.field, client.body)
        reply, _ = await self._services.workers.run(len(body), lambda: client.derender(body))
        return reply

    async def _deltas(self, calls: list[GenerateCall], client: _Client) -> AsyncGenerator[bytes, None]:
        """The chunks of the response, prompt after prompt; states are carried as a client carries them."""
        for number, call in enumerate(calls):
            states: dict[int, Any] = {}
            async with aclosing(chunks(self._services, call)) as stream:
                async for chunk in stream:
                    index = chunk["choices"][0]["index"] if chunk["choices"] else 0
                    for choice in chunk["choices"]:
                        choice["index"] += number * call.params.n
                    fields = _chunk_fields(call, chunk, states.get(index))
                    reply = json.loads(await self._derender(client, fields))
                    states[index] = reply["stream_state"]
                    yield event(reply["chunk"])


async def gather(work: list[Coroutine[Any, Any, dict[str, Any]]]) -> list[dict[str, Any]]:
    """The results in order; when one fails the others are cancelled and its own exception is raised."""
    tasks = [asyncio.ensure_future(item) for item in work]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


def _chunk_fields(call: GenerateCall, chunk: dict[str, Any], state: Any) -> dict[str, Any]:
    fields = {"stream": True, "model": call.model, "generate_chunk": chunk, "stream_state": state}
    return {**fields, **_prompt(call)}


def _prompt(call: GenerateCall) -> dict[str, Any]:
    return {"prompt_tokens": len(call.token_ids), "prompt_token_ids": call.token_ids}


def with_request(fields: dict[str, Any], name: bytes, request: bytes) -> bytes:
    """A derender body whose field `name` is the client's own body: its numbers keep their text."""
    return compact(fields)[:-1] + b',"' + name + b'":' + request + b"}"
