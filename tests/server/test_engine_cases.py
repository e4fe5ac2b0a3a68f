"""`/inference/v1/generate` and its neighbours, against vLLM 0.32's answers on the same model."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx
import pytest

from tests.conformance.data import FOLDERS, SHARED, Differences, case_id, json_lines

CASES = [
    {**case, "id": case_id((folder, case["name"]))}
    for folder in FOLDERS
    for case in json_lines(folder / "engine.jsonl")
]
CHOSEN_TOLERANCE = 0.05
# The reference's logits are bf16 numbers between 16 and 32, where one step is 0.125: its own rounding moves the
# logprob of an unlikely token, or of one of the prompt, by up to two steps.
OTHER_TOLERANCE = 0.25
# Sampled with a seed: vLLM's random numbers are its own, so lengths and repeatability are compared.
SAMPLED = {"n2-seed", "seed-repeat-a", "seed-repeat-b"}
RANDOM_ID = re.compile(r"generate-tokens-[0-9a-f]{32}")

DIFFERENCES = Differences("engine")
DIFFERENT = [case for case in CASES if DIFFERENCES.reason("engine", case["name"]) is not None]
GENERATE = [case for case in CASES if "body" in case and case not in DIFFERENT]
RAW = [case for case in CASES if "body" not in case and case not in DIFFERENT]


def check_error(reply: httpx.Response, expected: dict[str, Any]) -> None:
    error, wanted = reply.json()["error"], expected["error"]
    assert (error["code"], error["type"]) == (wanted["code"], wanted["type"])
    assert error["param"] == wanted["param"]
    assert error["message"]
    assert reply.status_code == error["code"]


def check_ranked(ours: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> None:
    """The likeliest tokens: ids may swap places where their logprobs are as close as the tolerance."""
    assert len(ours) == len(theirs)
    assert [entry["rank"] for entry in ours] == [entry["rank"] for entry in theirs]
    by_id = {entry["token_id"]: entry["logprob"] for entry in theirs}
    last = theirs[-1]["logprob"]
    for mine, other in zip(ours, theirs, strict=True):
        assert mine["logprob"] == pytest.approx(other["logprob"], abs=OTHER_TOLERANCE)
        # An id that is not among theirs is one that just missed the last place.
        assert mine["logprob"] == pytest.approx(by_id.get(mine["token_id"], last), abs=OTHER_TOLERANCE)


def check_choice(ours: dict[str, Any], theirs: dict[str, Any], *, sampled: bool) -> None:
    if sampled:
        assert len(ours["token_ids"]) == len(theirs["token_ids"])
        ours = {**ours, "token_ids": theirs["token_ids"]}
    logprobs, wanted = ours["logprobs"], theirs["logprobs"]
    assert {**ours, "logprobs": None} == {**theirs, "logprobs": None}
    assert (logprobs is None) == (wanted is None)
    if wanted is not None:
        for mine, other in zip(logprobs["content"], wanted["content"], strict=True):
            assert (mine["token_id"], mine["rank"]) == (other["token_id"], other["rank"])
            assert mine["logprob"] == pytest.approx(other["logprob"], abs=CHOSEN_TOLERANCE)
            check_ranked(mine["top_logprobs"], other["top_logprobs"])


def check_prompt_logprobs(ours: list[Any] | None, theirs: list[Any] | None) -> None:
    if theirs is None or ours is None:
        assert ours == theirs
        return
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        if other is None or mine is None:
            assert mine == other
            continue
        # The prompt's token comes first, then the likeliest.
        prompt_token = next(iter(other))
        assert next(iter(mine)) == prompt_token
        for token in mine.keys() & other.keys():
            assert mine[token].keys() == other[token].keys()
            assert mine[token]["logprob"] == pytest.approx(other[token]["logprob"], abs=OTHER_TOLERANCE)
        assert len(mine.keys() & other.keys()) >= len(other) - 1


@pytest.mark.parametrize("case", GENERATE, ids=lambda case: case["id"])
def test_generate(case: dict[str, Any], engine_client: httpx.Client) -> None:
    reply = engine_client.post("/inference/v1/generate", json=case["body"])
    assert reply.status_code == case["status"], reply.text
    expected = case["response"]
    if case["status"] != 200:
        check_error(reply, expected)
    elif isinstance(expected, str):
        assert reply.headers["content-type"].startswith("text/event-stream")
        assert RANDOM_ID.sub("generate-tokens-<id>", reply.text) == expected.rstrip("\n") + "\n\n"
    else:
        found = reply.json()
        assert list(found) == list(expected)
        assert RANDOM_ID.fullmatch(found["request_id"]) or "request_id" in case["body"]
        if "request_id" in case["body"]:
            assert found["request_id"] == f"generate-tokens-{case['body']['request_id']}"
        assert len(found["choices"]) == len(expected["choices"])
        for ours, theirs in zip(found["choices"], expected["choices"], strict=True):
            check_choice(ours, theirs, sampled=case["name"] in SAMPLED)
        check_prompt_logprobs(found["prompt_logprobs"], expected["prompt_logprobs"])
        compared = ("request_id", "created", "choices", "prompt_logprobs")
        assert {k: v for k, v in found.items() if k not in compared} == {
            k: v for k, v in expected.items() if k not in compared
        }


@pytest.mark.parametrize("case", RAW, ids=lambda case: f"{case['id']} {case['raw']}")
def test_other_paths(case: dict[str, Any], engine_client: httpx.Client) -> None:
    _, method, path = case["name"].split()
    headers = {"content-type": "application/json"} if case["raw"] else {}
    reply = engine_client.request(method, path, content=case["raw"], headers=headers)
    assert reply.status_code == case["status"], reply.text
    if not case["response"]:
        assert reply.content == b""
        return
    expected = json.loads(case["response"])
    if "error" in expected:
        check_error(reply, expected)
    elif path == "/v1/models":
        (found,), (wanted,) = reply.json()["data"][:1], expected["data"]
        for card in (found, wanted):
            card["root"] = "MODEL"
            card["created"] = card["permission"][0]["created"] = 0
            assert card["permission"][0].pop("id").startswith("modelperm-")
        assert found == wanted
    elif path == "/version":
        assert list(reply.json()) == list(expected)
    elif "detail" in expected:
        # The router's own refusals have the shape of the API's errors here.
        assert reply.json()["error"]["message"] == expected["detail"]
    else:
        assert reply.json() == expected


def test_what_is_refused_by_the_reference_alone(engine_client: httpx.Client) -> None:
    if SHARED.is_dir():
        assert len(DIFFERENT) == len(DIFFERENCES.keys)
    for case in DIFFERENT:
        assert case["status"] >= 400
        if "body" in case:
            reply = engine_client.post("/inference/v1/generate", json=case["body"])
        else:
            _, method, path = case["name"].split()
            reply = engine_client.request(method, path)
        assert reply.status_code == 200, reply.text


def test_a_seed_repeats(engine_client: httpx.Client) -> None:
    (case,) = [case for case in GENERATE if case["name"] == "seed-repeat-a"]
    replies = [engine_client.post("/inference/v1/generate", json=case["body"]).json() for _ in range(2)]
    assert replies[0]["choices"] == replies[1]["choices"]
    other = {**case["body"], "sampling_params": {**case["body"]["sampling_params"], "seed": 43}}
    ids = engine_client.post("/inference/v1/generate", json=other).json()["choices"][0]["token_ids"]
    assert ids != replies[0]["choices"][0]["token_ids"]
