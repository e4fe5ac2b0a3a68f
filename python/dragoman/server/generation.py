"""Runs one generate request on the engine and shapes its outputs as the wire wants them.

The shapes are those of vLLM 0.32: every field is there, null where it has no value.
"""

from __future__ import annotations

import base64
import dataclasses
import io
import time
import uuid
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import numpy as np

from dragoman import _core
from dragoman.engine import MakeMask, SamplingParams, TokenLogprob, TokenOutput
from dragoman.server.errors import ApiError
from dragoman.server.generation_metrics import RequestTimer
from dragoman.server.sampling import engine_sampling
from dragoman.server.services import Services
from dragoman.server.stops import StopStrings

# The least log probability on the wire: JSON has no infinity. vLLM's value.
LOGPROB_FLOOR = -9999.0


@dataclasses.dataclass(frozen=True, slots=True)
class GenerateCall:
    """A checked generate request. `aliases` are further ids under which it can be aborted.

    `sampling` are the wire's own sampling parameters: what the engine, which knows ids only, leaves to others.
    `reasoning_ended` tells whether the answer begins at once, where the renderer said so.
    """

    request_id: str
    aliases: tuple[str, ...]
    model: str
    token_ids: list[int]
    params: SamplingParams
    stream: bool
    include_usage: bool
    continuous_usage: bool
    return_token_ids: bool
    cache_salt: str | None
    priority: int
    sampling: dict[str, Any]
    reasoning_ended: bool | None


def parse_call(
    services: Services, body: bytes, config: bytes, header_id: str | None, prefix: str
) -> GenerateCall:
    """Checks a generate request; `prefix` goes before its id. Raises RequestError or ApiError."""
    fields = _core.parse_generate_request(body, config)
    sampling = fields["sampling_params"]
    identity = header_id or fields["request_id"] or uuid.uuid4().hex
    request_id = prefix + identity
    return GenerateCall(
        request_id=request_id,
        aliases=(identity,) if identity != request_id else (),
        model=fields["model"] or services.served_name,
        token_ids=fields["token_ids"].tolist(),
        params=engine_sampling(sampling, services.model.tokenizer),
        stream=fields["stream"],
        include_usage=fields["include_usage"],
        continuous_usage=fields["continuous_usage_stats"],
        return_token_ids=fields["return_token_ids"],
        cache_salt=fields["cache_salt"],
        priority=fields["priority"],
        sampling=sampling,
        reasoning_ended=fields["reasoning_ended"],
    )


async def outputs(services: Services, call: GenerateCall) -> AsyncGenerator[TokenOutput, None]:
    """The engine's outputs; closing the iterator aborts. Raises ApiError where the engine failed.

    What needs text is done here, for the engine knows ids only: grammars are compiled before the request is
    submitted, and a stop string ends its choice.
    """
    engine = services.engine
    if engine is None:
        raise ApiError("not_found", "this server has no engine")
    stops = StopStrings(
        services.derenderer,
        call.token_ids,
        call.sampling,
        reasoning_ended=call.reasoning_ended,
    )
    ended: set[int] = set()
    timer = RequestTimer(services.metrics.generation)
    with services.running.entered(call.request_id, *call.aliases) as running:
        make_mask = await _make_mask(services, call)
        if running.aborted:
            for index in range(call.params.n):
                finished = index == call.params.n - 1
                yield TokenOutput(index=index, token_ids=[], finish_reason="abort", finished=finished)
            return
        stream = engine.generate(
            running.engine_id,
            call.token_ids,
            call.params,
            priority=call.priority,
            cache_salt=call.cache_salt,
            make_mask=make_mask,
        )
        async with aclosing(stream):
            async for from_engine in stream:
                if from_engine.finish_reason == "error":
                    kind = "unavailable" if from_engine.unavailable else "internal"
                    raise ApiError(kind, from_engine.error or "the engine failed")
                if from_engine.index in ended:
                    continue
                output = _without_eos(services, call, stops.ended(from_engine))
                timer.output(output)
                if output.finish_reason is not None:
                    ended.add(output.index)
                    if from_engine.finish_reason is None:
                        # Before the output is sent: a slow client must not keep the engine at work.
                        engine.abort((running.engine_id,), index=output.index)
                yield output
                if len(ended) == call.params.n:
                    timer.end()
                    return


def _without_eos(services: Services, call: GenerateCall, output: TokenOutput) -> TokenOutput:
    """Without a stop reason where the model's own EOS ended the choice, as in vLLM.

    A server of token ids alone has no EOS there: for it each is a stop id like any other.
    """
    reason = output.stop_reason
    if services.options.mode == "tokens-only" or reason is None or reason in call.params.stop_token_ids:
        return output
    ended = reason in services.model.config.eos_token_ids
    return dataclasses.replace(output, stop_reason=None) if ended else output


async def _make_mask(services: Services, call: GenerateCall) -> MakeMask | None:
    asked = call.sampling.get("structured_outputs")
    if not asked:
        return None
    if services.grammars is None:
        raise ApiError("not_found", "this server has no engine")
    # A request that cannot run for other reasons is refused before the work.
    if services.engine is not None:
        services.engine.check(call.token_ids, call.params)
    return await services.grammars.mask_maker(asked, call.token_ids, call.reasoning_ended)


@dataclasses.dataclass(slots=True)
class Tally:
    """What has come of one choice so far. `versions` are (label, first token, end) of the weights used."""

    token_ids: list[int] = dataclasses.field(default_factory=list)
    logprobs: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    versions: list[tuple[str, int, int]] = dataclasses.field(default_factory=list)
    finish_reason: str | None = None
    stop_reason: int | str | None = None

    def add(self, output: TokenOutput) -> None:
        """Takes in one output."""
        begin = len(self.token_ids)
        self.token_ids.extend(output.token_ids)
        end = len(self.token_ids)
        if self.versions and self.versions[-1][0] == output.weight_version:
            begin = self.versions.pop()[1]
        if end > begin:
            self.versions.append((output.weight_version, begin, end))
        if output.finish_reason is not None:
            self.finish_reason = output.finish_reason
            self.stop_reason = output.stop_reason

    def weight_versions(self) -> list[dict[str, Any]]:
        """Which weights made which tokens."""
        return [{"version": label, "start": begin, "end": end} for label, begin, end in self.versions]


async def complete(services: Services, call: GenerateCall) -> dict[str, Any]:
    """The whole answer of a request that is not streamed."""
    tallies = [Tally() for _ in range(call.params.n)]
    prompt_logprobs = None
    prompt_scores = None
    cached = 0
    async with aclosing(outputs(services, call)) as stream:
        async for output in stream:
            tally = tallies[output.index]
            tally.add(output)
            tally.logprobs.extend(_logprobs(output, call.params))
            if output.prompt_logprobs is not None:
                prompt_logprobs = _prompt_logprobs(output.prompt_logprobs)
            if output.prompt_scores is not None:
                prompt_scores = _array(output.prompt_scores)
            cached = max(cached, output.cached_tokens)
    wanted = call.params.logprobs is not None or call.params.logprob_token_ids is not None
    choices = [
        _choice(
            index,
            token_ids=tally.token_ids,
            finish_reason=tally.finish_reason,
            stop_reason=tally.stop_reason,
            weight_versions=tally.weight_versions(),
            logprobs={"content": tally.logprobs} if wanted else None,
        )
        for index, tally in enumerate(tallies)
    ]
    return {
        "request_id": call.request_id,
        "model": call.model,
        "created": int(time.time()),
        "usage": usage(services, call, tallies, cached),
        "prompt_logprobs": prompt_logprobs,
        "prompt_token_id_logprobs": prompt_scores,
        "prompt_token_ids": call.token_ids if call.return_token_ids else None,
        "mm_placeholders": None,
        "metrics": None,
        "kv_transfer_params": None,
        "ec_transfer_params": None,
        "output_mode": "tokens",
        "choices": choices,
    }


async def chunks(services: Services, call: GenerateCall) -> AsyncGenerator[dict[str, Any], None]:
    """The events of a streamed request: one choice each, then the usage where it is asked for."""
    tallies = [Tally() for _ in range(call.params.n)]
    cached = 0
    first = True
    async with aclosing(outputs(services, call)) as stream:
        async for output in stream:
            tally = tallies[output.index]
            tally.add(output)
            cached = max(cached, output.cached_tokens)
            counts = usage(services, call, tallies, cached) if call.continuous_usage else None
            chunk: dict[str, Any] = {"request_id": call.request_id, "usage": counts}
            if first and call.return_token_ids:
                chunk["prompt_token_ids"] = call.token_ids
            first = False
            chunk["output_mode"] = "tokens"
            chunk["choices"] = [_stream_choice(output, tally, call.params)]
            yield chunk
    if call.include_usage:
        counts = usage(services, call, tallies, cached)
        total = {key: value for key, value in counts.items() if value is not None}
        yield {"request_id": call.request_id, "usage": total, "output_mode": "tokens", "choices": []}


def _stream_choice(output: TokenOutput, tally: Tally, params: SamplingParams) -> dict[str, Any]:
    logprobs = _logprobs(output, params)
    return _choice(
        output.index,
        token_ids=output.token_ids,
        finish_reason=output.finish_reason,
        stop_reason=output.stop_reason,
        weight_versions=tally.weight_versions() if output.finish_reason is not None else None,
        logprobs={"content": logprobs} if logprobs else None,
    )


def usage(services: Services, call: GenerateCall, tallies: list[Tally], cached: int) -> dict[str, Any]:
    """The token counts so far."""
    prompt = len(call.token_ids)
    completion = sum(len(tally.token_ids) for tally in tallies)
    details = {"cached_tokens": cached} if services.options.enable_prompt_tokens_details else None
    return {
        "prompt_tokens": prompt,
        "total_tokens": prompt + completion,
        "completion_tokens": completion,
        "prompt_tokens_details": details,
        "completion_tokens_details": None,
    }


def _choice(
    index: int,
    *,
    token_ids: list[int],
    finish_reason: str | None,
    stop_reason: int | str | None,
    weight_versions: list[dict[str, Any]] | None,
    logprobs: dict[str, Any] | None,
) -> dict[str, Any]:
    return {
        "index": index,
        "finish_reason": finish_reason,
        "stop_reason": stop_reason,
        "token_ids": token_ids,
        "routed_experts": None,
        "sampling_mask": None,
        "weight_versions": weight_versions,
        "logprobs": logprobs,
    }


def _logprobs(output: TokenOutput, params: SamplingParams) -> list[dict[str, Any]]:
    """`logprobs.content` of the tokens of one output. `top_logprobs` holds the sampled token and the likeliest, or
    those that were named; none where none was asked for."""
    shows = bool(params.logprobs) or params.logprob_token_ids is not None
    return [
        {
            "token_id": entry.token_id,
            "logprob": max(entry.logprob, LOGPROB_FLOOR),
            "rank": entry.rank,
            "top_logprobs": [
                {"token_id": top.token_id, "logprob": max(top.logprob, LOGPROB_FLOOR), "rank": top.rank}
                for top in (entry.top if shows else ())
            ],
        }
        for entry in output.logprobs or ()
    ]


def _array(rows: list[list[float]]) -> str:
    """The rows as vLLM sends them: a float32 array in the form of a .npy file, in base64; short rows end in -inf."""
    array = np.full((len(rows), max(map(len, rows))), -np.inf, dtype=np.float32)
    for line, row in zip(array, rows, strict=True):
        line[: len(row)] = row
    file = io.BytesIO()
    np.save(file, array)
    return base64.b64encode(file.getvalue()).decode()


def _prompt_logprobs(entries: list[TokenLogprob | None]) -> list[dict[str, Any] | None]:
    """For each prompt token a map from id to log probability: the token itself, then the likeliest."""

    def values(entry: TokenLogprob) -> dict[str, Any]:
        found = {entry.token_id: (entry.logprob, entry.rank)}
        found.update((top.token_id, (top.logprob, top.rank)) for top in entry.top)
        return {
            str(token): {"logprob": max(logprob, LOGPROB_FLOOR), "rank": rank, "decoded_token": None}
            for token, (logprob, rank) in found.items()
        }

    return [None if entry is None else values(entry) for entry in entries]
