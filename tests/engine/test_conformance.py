"""Answers of vLLM 0.32 (CPU, bf16) to generate requests on SmolLM2; see shared/conformance/README.md."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.engine import Engine, InvalidRequestError, TokenLogprob

from .collect import run
from .conftest import SHARED

CASES_FILE = SHARED / "conformance" / "engine.jsonl"
TOLERANCE = 0.05
BF16_STEPS = 0.25
"""The reference's logits are bf16 numbers between 8 and 32, so neighbours are up to 0.125 apart; one other
rounding somewhere in 30 layers moves an unlikely token by a step or two."""
ENGINE_FIELDS = {
    "n", "presence_penalty", "frequency_penalty", "repetition_penalty", "temperature", "top_p", "top_k",
    "min_p", "seed", "stop_token_ids", "ignore_eos", "max_tokens", "min_tokens", "logprobs",
    "prompt_logprobs", "logprob_token_ids", "logit_bias", "allowed_token_ids",
}  # fmt: skip
NOT_THE_ENGINES = {"detokenize", "zzz"}


def _cases() -> list[dict[str, Any]]:
    if not CASES_FILE.is_file():
        return []
    cases = [json.loads(line) for line in CASES_FILE.read_text(encoding="utf-8").splitlines()]
    return [case for case in cases if "body" in case]


def _params(body: dict[str, Any]) -> dict[str, Any]:
    params = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in body["sampling_params"].items()
        if name in ENGINE_FIELDS
    }
    if "logit_bias" in params:
        params["logit_bias"] = {int(token): bias for token, bias in params["logit_bias"].items()}
    return params


def _answered() -> list[dict[str, Any]]:
    return [case for case in _cases() if case["status"] == 200]


def _refused() -> list[dict[str, Any]]:
    """Refusals that are about the engine's own parameters."""
    found = []
    for case in _cases():
        params = case["body"].get("sampling_params")
        if case["status"] != 400 or params is None or set(params) - ENGINE_FIELDS:
            continue
        if set(case["body"]) <= {"token_ids", "sampling_params", "stream"} and _well_typed(case["body"]):
            found.append(case)
    return found


def _well_typed(body: dict[str, Any]) -> bool:
    ids = all(isinstance(token, int) for token in body["token_ids"])
    return ids and not any(isinstance(value, str) for value in body["sampling_params"].values())


def _skip_without(cases: list[Any]) -> list[Any]:
    skip = pytest.mark.skip(reason="shared/conformance is not there")
    return cases or [pytest.param({"name": "none"}, marks=skip)]


@pytest.mark.parametrize("case", _skip_without(_answered()), ids=lambda case: case["name"])
def test_same_answer_as_vllm(case: dict[str, Any], smollm2: Engine) -> None:
    body = case["body"]
    prompt = [int(token) for token in body["token_ids"]]
    answer = run(smollm2, prompt, **_params(body))
    if isinstance(case["response"], str):
        expected = _from_stream(case["response"])
        assert answer.token_ids == expected["token_ids"]
        assert answer.choices[0].finish_reason == expected["finish_reason"]
        assert [len(output.token_ids) for output in answer.outputs] == [1] * len(answer.outputs)
        return
    drawn = body["sampling_params"].get("temperature", 1.0) > 0 and "seed" in body["sampling_params"]
    for choice in case["response"]["choices"]:
        got = answer.choices[choice["index"]]
        if drawn:
            # vLLM's random numbers are its own.
            assert len(got.token_ids) == len(choice["token_ids"])
        else:
            assert got.token_ids == choice["token_ids"]
        assert got.finish_reason == choice["finish_reason"]
        assert got.stop_reason == choice["stop_reason"]
        if choice["logprobs"] is not None:
            assert len(got.logprobs) == len(choice["logprobs"]["content"])
            for mine, theirs in zip(got.logprobs, choice["logprobs"]["content"], strict=True):
                _same_logprobs(mine, theirs)
    expected_prompt = case["response"]["prompt_logprobs"]
    assert (answer.prompt_logprobs is None) == (expected_prompt is None)
    if expected_prompt is not None:
        assert answer.prompt_logprobs is not None
        _same_prompt_logprobs(answer.prompt_logprobs, expected_prompt, prompt)


@pytest.mark.parametrize("case", _skip_without(_refused()), ids=lambda case: case["name"])
def test_refuses_what_vllm_refuses(case: dict[str, Any], smollm2: Engine) -> None:
    with pytest.raises(InvalidRequestError) as refusal:
        run(smollm2, case["body"]["token_ids"], **_params(case["body"]))
    assert refusal.value.parameter is not None


def test_every_case_is_looked_at() -> None:
    if not CASES_FILE.is_file():
        pytest.skip("shared/conformance is not there")
    fields = {name for case in _answered() for name in case["body"]["sampling_params"]}
    assert fields <= ENGINE_FIELDS | NOT_THE_ENGINES
    assert len(_answered()) >= 25
    assert len(_refused()) >= 15


def _from_stream(text: str) -> dict[str, Any]:
    ids: list[int] = []
    reason = None
    for line in text.splitlines():
        if line.startswith("data: {"):
            for choice in json.loads(line.removeprefix("data: "))["choices"]:
                ids += choice["token_ids"]
                reason = choice["finish_reason"] or reason
    return {"token_ids": ids, "finish_reason": reason}


def _same_logprobs(mine: TokenLogprob, theirs: dict[str, Any]) -> None:
    assert mine.token_id == theirs["token_id"]
    assert mine.logprob == pytest.approx(theirs["logprob"], abs=TOLERANCE)
    top = theirs["top_logprobs"]
    assert [entry.rank for entry in mine.top][: len(top)] == [entry["rank"] for entry in top]
    by_id = {entry.token_id: entry.logprob for entry in mine.top}
    floor = min((entry["logprob"] for entry in top), default=0.0)
    for entry in top:
        if entry["token_id"] in by_id:
            assert by_id[entry["token_id"]] == pytest.approx(entry["logprob"], abs=BF16_STEPS)
        else:
            # Only a tie at the end of the list may bring another id in.
            assert entry["logprob"] == pytest.approx(floor, abs=BF16_STEPS)


def _same_prompt_logprobs(
    mine: list[TokenLogprob | None], theirs: list[dict[str, Any] | None], prompt: list[int]
) -> None:
    assert len(mine) == len(theirs) == len(prompt)
    assert mine[0] is None
    assert theirs[0] is None
    for entry, expected, token in zip(mine[1:], theirs[1:], prompt[1:], strict=True):
        assert entry is not None
        assert expected is not None
        assert entry.token_id == token
        assert len(entry.top) == len(expected)
        reference = expected[str(token)]
        assert entry.logprob == pytest.approx(reference["logprob"], abs=BF16_STEPS)
        for other in entry.top:
            if str(other.token_id) in expected:
                assert other.logprob == pytest.approx(
                    expected[str(other.token_id)]["logprob"], abs=BF16_STEPS
                )
