"""Public bug reports on echo and prompt log-probabilities (`bugs.jsonl`, class f), on a whole server."""

from __future__ import annotations

import json
import math
from typing import Any

import httpx


def complete(client: httpx.Client, **fields: Any) -> dict[str, Any]:
    answer = client.post("/v1/completions", json={"model": "smollm2", **fields}, timeout=120)
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = json.loads(answer.content, parse_constant=lambda name: 1 / 0)
    return body


def test_echo_counts_the_prompt(coupled_client: httpx.Client) -> None:
    """ggml-org/llama.cpp#27174"""
    body = complete(coupled_client, prompt="a b c", echo=True, logprobs=1, max_tokens=1, temperature=0)
    logprobs = body["choices"][0]["logprobs"]
    assert len(logprobs["tokens"]) == body["usage"]["prompt_tokens"] + 1
    assert logprobs["token_logprobs"][0] is None
    assert logprobs["text_offset"] == [0, 1, 3, 5]
    assert "".join(logprobs["tokens"]) == body["choices"][0]["text"]


def test_prompt_logprobs_are_of_the_unmasked_logits(coupled_client: httpx.Client) -> None:
    """vllm-project/vllm#10234"""
    fields = {"prompt": "correct horse battery", "echo": True, "logprobs": 1, "temperature": 1, "top_k": 1}
    values = complete(coupled_client, **fields, max_tokens=1)["choices"][0]["logprobs"]["token_logprobs"]
    assert values[0] is None
    assert all(math.isfinite(value) and value > -100 for value in values[1:])


def test_prompt_logprobs_have_an_entry_for_each_token(coupled_client: httpx.Client) -> None:
    """vllm-project/vllm-metal#680"""
    body = complete(coupled_client, prompt="a b c d", prompt_logprobs=1, max_tokens=1)
    entries = body["choices"][0]["prompt_logprobs"]
    assert len(entries) == body["usage"]["prompt_tokens"]
    assert entries[0] is None
    assert all(entry for entry in entries[1:])


def test_masked_sampling_gives_valid_json(coupled_client: httpx.Client) -> None:
    """sgl-project/sglang#5984"""
    body = complete(coupled_client, prompt="a b", logprobs=5, top_p=0.1, temperature=0.01, max_tokens=3)
    for entry in body["choices"][0]["logprobs"]["top_logprobs"]:
        assert all(math.isfinite(value) for value in entry.values())
