"""Sampling parameters of a generate request that only some engines have."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from dragoman.model import ModelOptions, load_model

PROMPT = [1, 4093, 198, 1780, 314, 260, 3575, 282, 4649, 47]


def ask(client: httpx.Client, **sampling: Any) -> httpx.Response:
    params = {"max_tokens": 1, "temperature": 0, **sampling}
    return client.post("/inference/v1/generate", json={"token_ids": PROMPT, "sampling_params": params})


@pytest.mark.parametrize(
    "sampling",
    [
        {"thinking_token_budget": 5},
        {"watermarking": True},
    ],
)
def test_what_is_not_honoured_is_refused_by_name(
    sampling: dict[str, Any], engine_client: httpx.Client
) -> None:
    reply = ask(engine_client, **sampling)
    assert (reply.status_code, reply.json()["error"]["param"]) == (400, next(iter(sampling)))


def test_bad_words_are_never_written(engine_client: httpx.Client) -> None:
    """Refused by vLLM on a tokens-only server; the tokenizer file is at hand here."""
    tokenizer = load_model(ModelOptions(model="smollm2")).tokenizer
    sampling = {"max_tokens": 12, "ignore_eos": True}
    free = ask(engine_client, **sampling).json()["choices"][0]["token_ids"]
    word = next(token for token in free if tokenizer.decode([token]).strip().isalpha())
    bad = [tokenizer.decode([word]).strip()]
    kept = ask(engine_client, bad_words=bad, **sampling).json()["choices"][0]["token_ids"]
    assert len(kept) == 12
    assert word not in kept


def test_repetition_is_detected(engine_client: httpx.Client) -> None:
    structured = {"regex": "(ab|cd){60}"}
    found = {"max_pattern_size": 8, "min_count": 4}
    sampling = {"structured_outputs": structured, "repetition_detection": found, "max_tokens": 200}
    generated = ask(engine_client, **sampling).json()
    (choice,) = generated["choices"]
    assert (choice["finish_reason"], choice["stop_reason"]) == ("repetition", "repetition_detected")
    body = {"model": "smol", "generate_response": generated, "prompt_tokens": len(PROMPT)}
    (derendered,) = engine_client.post("/v1/chat/completions/derender", json=body).json()["choices"]
    assert derendered["finish_reason"] == "repetition"
    reply = ask(engine_client, repetition_detection={"max_pattern_size": 3, "min_count": 1})
    assert (reply.status_code, reply.json()["error"]["param"]) == (400, "repetition_detection")
    reply = ask(engine_client, repetition_detection={"max_pattern_size": "x"})
    assert (reply.status_code, reply.json()["error"]["param"]) == (400, "repetition_detection")
