"""Scoring and log-probabilities at the coupled endpoints, as vLLM answers them.

Sources: vLLM's `entrypoints/openai` (0.34): `echo` with `max_tokens` 0 gives the prompt alone, a chat's `echo` puts the
last message in front where the roles agree, `stop_reason` is null at the model's own EOS.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from dragoman.cli.server_process import ServerProcess

QUESTION = {"role": "user", "content": "What is the capital of France?"}


@pytest.fixture(scope="module")
def client(smollm2: Path) -> Iterator[httpx.Client]:
    assert smollm2.is_file()
    arguments = ("--max-model-len", "1024", "--max-logprobs", "-1", "--enable-scale-out")
    with (
        ServerProcess("serve", "smollm2", *arguments) as server,
        httpx.Client(base_url=server.url, timeout=60) as client,
    ):
        yield client


def _choice(client: httpx.Client, path: str, **fields: Any) -> dict[str, Any]:
    reply = client.post(f"/v1/{path}", json={"temperature": 0, **fields})
    assert reply.status_code == 200, reply.text
    choice: dict[str, Any] = reply.json()["choices"][0]
    return choice


def test_a_prompt_is_scored_without_a_token_of_output(client: httpx.Client) -> None:
    asked = {"prompt": "a b c d", "echo": True, "logprobs": 2, "max_tokens": 0, "temperature": 0}
    body = client.post("/v1/completions", json=asked).json()
    choice = body["choices"][0]
    assert choice["text"] == "a b c d"
    assert body["usage"]["completion_tokens"] == 0
    tokens = choice["logprobs"]["tokens"]
    assert "".join(tokens) == "a b c d"
    assert choice["logprobs"]["token_logprobs"][0] is None
    assert all(value <= 0 for value in choice["logprobs"]["token_logprobs"][1:])
    more = client.post("/v1/completions", json={**asked, "max_tokens": 2}).json()["choices"][0]
    assert more["logprobs"]["tokens"][: len(tokens)] == tokens
    with client.stream("POST", "/v1/completions", json={**asked, "logprobs": None, "stream": True}) as reply:
        events = [line for line in reply.iter_lines() if '"text"' in line]
    assert [line.count('"text":"a b c d"') for line in events] == [1] + [0] * (len(events) - 1)


def test_completions_hold_the_sampled_token_and_the_likeliest(client: httpx.Client) -> None:
    fields = {"prompt": "The", "temperature": 2.0, "logprobs": 1, "max_tokens": 40, "ignore_eos": True}
    logprobs = _choice(client, "completions", **fields, seed=7)["logprobs"]
    rows = list(zip(logprobs["tokens"], logprobs["token_logprobs"], logprobs["top_logprobs"], strict=True))
    assert all(token in top and top[token] == value for token, value, top in rows)
    assert all(max(top.values()) >= value for _, value, top in rows)
    # At this temperature a token that is not the likeliest comes up.
    assert any(len(top) == 2 for _, _, top in rows)


def test_the_one_alternative_of_a_chat_is_the_likeliest(client: httpx.Client) -> None:
    fields = {"messages": [QUESTION], "temperature": 2.0, "seed": 7, "max_tokens": 40, "ignore_eos": True}
    wide = _choice(client, "chat/completions", **fields, logprobs=True, top_logprobs=5)["logprobs"]["content"]
    narrow = _choice(client, "chat/completions", **fields, logprobs=True, top_logprobs=1)["logprobs"][
        "content"
    ]
    assert any(entry["token"] != entry["top_logprobs"][0]["token"] for entry in narrow)
    for entry, other in zip(narrow, wide, strict=True):
        assert len(entry["top_logprobs"]) == 1
        assert len(other["top_logprobs"]) == 5
        likeliest = max(other["top_logprobs"], key=lambda top: top["logprob"])
        assert entry["top_logprobs"][0]["logprob"] == likeliest["logprob"]


def test_more_than_twenty_and_all_log_probabilities(client: httpx.Client) -> None:
    fields = {"messages": [QUESTION], "max_tokens": 1, "logprobs": True}
    many = _choice(client, "chat/completions", **fields, top_logprobs=50)["logprobs"]["content"][0]
    assert len(many["top_logprobs"]) == 50
    params = {"max_tokens": 1, "logprobs": -1, "temperature": 0}
    body = {"token_ids": [504, 3575], "sampling_params": params}
    entry = client.post("/inference/v1/generate", json=body).json()["choices"][0]["logprobs"]["content"][0]
    ids = {top["token_id"] for top in entry["top_logprobs"]}
    assert len(ids) == len(entry["top_logprobs"]) == 49_152


def test_a_chat_is_echoed(client: httpx.Client) -> None:
    begun = [QUESTION, {"role": "assistant", "content": "The capital of"}]
    fields = {
        "messages": begun,
        "max_tokens": 4,
        "add_generation_prompt": False,
        "continue_final_message": True,
    }
    plain = _choice(client, "chat/completions", **fields)["message"]["content"]
    echoed = _choice(client, "chat/completions", **fields, echo=True)["message"]["content"]
    assert echoed == "The capital of" + plain
    question = _choice(client, "chat/completions", messages=[QUESTION], max_tokens=4, echo=True)
    assert not question["message"]["content"].startswith(QUESTION["content"])


def test_the_models_own_eos_is_no_stop_reason(client: httpx.Client) -> None:
    ended = _choice(client, "chat/completions", messages=[QUESTION], max_tokens=60)
    assert (ended["finish_reason"], ended["stop_reason"]) == ("stop", None)
    named = _choice(client, "chat/completions", messages=[QUESTION], max_tokens=60, stop_token_ids=[2])
    assert (named["finish_reason"], named["stop_reason"]) == ("stop", 2)
    word = _choice(client, "chat/completions", messages=[QUESTION], max_tokens=60, stop=["Paris"])
    assert word["stop_reason"] == "Paris"


def test_prompt_logprobs_say_the_tokens(client: httpx.Client) -> None:
    asked = {"prompt": "a café", "prompt_logprobs": 1, "max_tokens": 1}
    body = client.post("/v1/completions", json=asked).json()
    positions = body["choices"][0]["prompt_logprobs"]
    assert positions[0] is None
    texts = [next(iter(position.values()))["decoded_token"] for position in positions[1:]]
    assert "".join(texts) == " café"


def test_tokens_are_named_by_their_ids_where_asked(client: httpx.Client) -> None:
    fields = {"max_tokens": 2, "return_tokens_as_token_ids": True}
    chat = _choice(client, "chat/completions", messages=[QUESTION], logprobs=True, top_logprobs=1, **fields)
    entry = chat["logprobs"]["content"][0]
    assert entry["token"].startswith("token_id:")
    assert entry["bytes"] is None
    assert entry["top_logprobs"][0]["token"] == entry["token"]
    completion = _choice(client, "completions", prompt="a", logprobs=1, **fields)["logprobs"]
    assert all(token.startswith("token_id:") for token in completion["tokens"])
    assert [list(top) for top in completion["top_logprobs"]] == [[token] for token in completion["tokens"]]


def test_versions_of_the_weights_where_asked(client: httpx.Client) -> None:
    fields = {"messages": [QUESTION], "max_tokens": 3}
    assert "weight_versions" not in _choice(client, "chat/completions", **fields)
    versions = _choice(client, "chat/completions", **fields, return_weight_versions=True)["weight_versions"]
    assert versions == [{"version": "default", "start": 0, "end": 3}]


@pytest.mark.parametrize("path", ["chat/completions", "completions"])
def test_beam_search_is_refused_with_one_text(path: str, client: httpx.Client) -> None:
    fields = {"messages": [QUESTION], "prompt": "x", "use_beam_search": True}
    coupled = client.post(f"/v1/{path}", json=fields)
    rendered = client.post(f"/v1/{path}/render", json=fields)
    assert coupled.status_code == rendered.status_code == 400
    assert coupled.json() == rendered.json()


def test_rendering_is_measured(client: httpx.Client) -> None:
    client.post("/v1/chat/completions/render", json={"messages": [QUESTION]})
    lines = client.get("/metrics").text.splitlines()
    name = 'vllm:request_render_duration_seconds_count{model_name="smollm2",request_type="chat"}'
    assert any(line.startswith(name) and float(line.split()[-1]) > 0 for line in lines)
    assert any(line.startswith("process_cpu_seconds_total") for line in lines)
