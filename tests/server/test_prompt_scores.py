"""`prompt_logprob_token_ids`: a teacher's log probabilities of a student's candidates (vLLM's documentation)."""

from __future__ import annotations

import base64
import io
from typing import Any

import httpx
import numpy as np
import pytest

PROMPT = [1, 4093, 198, 1780, 314, 260, 3575, 282, 4649, 47]


def ask(client: httpx.Client, *, stream: bool = False, **sampling: Any) -> httpx.Response:
    params = {"max_tokens": 1, "temperature": 0, **sampling}
    body = {"token_ids": PROMPT, "sampling_params": params, "stream": stream}
    return client.post("/inference/v1/generate", json=body)


def scores(reply: httpx.Response) -> np.ndarray[Any, np.dtype[np.float32]]:
    assert reply.status_code == 200, reply.text
    return np.load(io.BytesIO(base64.b64decode(reply.json()["prompt_token_id_logprobs"])))  # type: ignore[no-any-return]


@pytest.mark.parametrize("start", [0, 4, 8])
def test_the_scores_are_those_of_prompt_logprobs(start: int, engine_client: httpx.Client) -> None:
    """Candidates: the prompt's own token and two of the likeliest, whose log probabilities the other way tells."""
    entries = ask(engine_client, prompt_logprobs=2).json()["prompt_logprobs"][start + 1 :]
    rows = [[int(token) for token in entry] for entry in entries]
    rows[0].append(-1)
    expected = np.full((len(rows), max(map(len, rows))), -np.inf)
    for place, entry in enumerate(entries):
        expected[place, : len(entry)] = [found["logprob"] for found in entry.values()]
    got = scores(ask(engine_client, prompt_logprob_token_ids=rows, prompt_logprob_start=start))
    assert got.dtype == np.float32
    assert got.shape == (len(PROMPT) - 1 - start, expected.shape[1])
    # The prefix cache may not spare the engine a position.
    np.testing.assert_allclose(got, expected, atol=0.05)


@pytest.mark.parametrize(
    ("sampling", "param"),
    [
        ({"prompt_logprob_token_ids": [[1]] * 8}, "prompt_logprob_token_ids"),
        ({"prompt_logprob_token_ids": [[1]] * 9, "prompt_logprob_start": 1}, "prompt_logprob_token_ids"),
        ({"prompt_logprob_token_ids": [[1] * 21] * 9}, "prompt_logprob_token_ids"),
        ({"prompt_logprob_token_ids": [[-2]] * 9}, "prompt_logprob_token_ids"),
        ({"prompt_logprob_token_ids": [[10**6]] * 9}, "prompt_logprob_token_ids"),
        ({"prompt_logprob_token_ids": [], "prompt_logprob_start": 9}, "prompt_logprob_start"),
        ({"prompt_logprob_token_ids": [], "prompt_logprob_start": -1}, "prompt_logprob_start"),
        ({"prompt_logprob_start": 2}, "prompt_logprob_start"),
        ({"prompt_logprob_token_ids": [1, 2]}, "sampling_params"),
        ({"prompt_logprob_token_ids": [[1]] * 9, "stream": True}, "prompt_logprob_token_ids"),
    ],
)
def test_refusals(sampling: dict[str, Any], param: str, engine_client: httpx.Client) -> None:
    stream = bool(sampling.pop("stream", False))
    reply = ask(engine_client, stream=stream, **sampling)
    assert reply.status_code == 400
    assert reply.json()["error"]["param"].removeprefix("body.") == param
