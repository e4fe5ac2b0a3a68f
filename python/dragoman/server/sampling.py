"""`sampling_params` of the wire -> the engine's parameters."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from dragoman import _core
from dragoman.engine import RepetitionDetection, SamplingParams
from dragoman.server.errors import ApiError

# Fields that this engine does not honour: a request that sets one is refused, not misunderstood.
UNSUPPORTED = (
    "thinking_token_budget",
    "watermarking",
)
# Fields that mean the same on both sides.
PLAIN = (
    "n",
    "presence_penalty",
    "frequency_penalty",
    "repetition_penalty",
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "seed",
    "ignore_eos",
    "max_tokens",
    "min_tokens",
    "logprobs",
    "prompt_logprobs",
)


def engine_sampling(fields: dict[str, Any], tokenizer: _core.Tokenizer) -> SamplingParams:
    """The engine's parameters of checked `sampling_params`. Raises ApiError for what it does not honour."""
    for name in UNSUPPORTED:
        if fields.get(name):
            raise ApiError("bad_request", f"{name} is not supported by this engine", name)
    bias = fields.get("logit_bias")
    allowed = fields.get("allowed_token_ids")
    followed = fields.get("logprob_token_ids")
    scored = fields.get("prompt_logprob_token_ids")
    return SamplingParams(
        stop_token_ids=tuple(fields.get("stop_token_ids") or ()),
        logit_bias=None if not bias else {int(token): float(value) for token, value in bias.items()},
        allowed_token_ids=None if allowed is None else tuple(allowed),
        prompt_logprob_token_ids=None if scored is None else tuple(map(tuple, scored)),
        prompt_logprob_start=fields.get("prompt_logprob_start") or 0,
        logprob_token_ids=None if not followed else tuple(followed),
        bad_words_token_ids=bad_word_ids(fields.get("bad_words") or (), tokenizer),
        repetition_detection=repetition(fields.get("repetition_detection")),
        **{name: fields[name] for name in PLAIN if name in fields},
    )


def repetition(fields: dict[str, Any] | None) -> RepetitionDetection | None:
    """`repetition_detection`; fields that are not known are passed over. Raises ApiError."""
    if fields is None:
        return None
    known = {
        field.name: fields[field.name]
        for field in dataclasses.fields(RepetitionDetection)
        if field.name in fields
    }
    for name, value in known.items():
        if not isinstance(value, int) or isinstance(value, bool):
            raise ApiError(
                "bad_request", f"repetition_detection.{name} must be an integer", "repetition_detection"
            )
    return RepetitionDetection(**known)


def bad_word_ids(words: Iterable[str], tokenizer: _core.Tokenizer) -> tuple[tuple[int, ...], ...]:
    """The id sequences that spell the words, at the start of a text and after a space, as vLLM finds them.

    The form after a space counts where it is as long as the other and begins with another token.
    """
    found: list[tuple[int, ...]] = []
    for word in words:
        bare = tuple(tokenizer.encode(word.lstrip()).ids.tolist())
        spaced = tuple(tokenizer.encode(" " + word.lstrip()).ids.tolist())
        if bare:
            found.append(bare)
        if bare and len(spaced) == len(bare) and spaced[0] != bare[0]:
            found.append(spaced)
    return tuple(found)
