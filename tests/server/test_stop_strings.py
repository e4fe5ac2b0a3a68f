"""Stop strings on the engine's own endpoint, and in the three steps as a client wires them."""

from __future__ import annotations

import json
import time
from typing import Any

import httpx
import pytest

from dragoman import _core
from dragoman.model import ModelOptions, load_model
from tests.server.test_life import at_work

GENERATE = "/inference/v1/generate"
CHAT = "/v1/chat/completions"
PROMPT = [1, 4093, 198, 1780, 314, 260, 3575, 282, 4649, 47, 2, 198, 1, 520, 9531, 198]


@pytest.fixture(scope="module")
def tokenizer(smollm2: object) -> _core.Tokenizer:
    return load_model(ModelOptions(model="smollm2")).tokenizer


def ask(client: httpx.Client, **sampling: Any) -> dict[str, Any]:
    params = {"temperature": 0, "max_tokens": 30, "ignore_eos": True, **sampling}
    reply = client.post(GENERATE, json={"token_ids": PROMPT, "sampling_params": params})
    assert reply.status_code == 200, reply.text
    answer: dict[str, Any] = reply.json()
    return answer


def choice(client: httpx.Client, **sampling: Any) -> dict[str, Any]:
    (found,) = ask(client, **sampling)["choices"]
    return dict(found)


def streamed(client: httpx.Client, body: dict[str, Any]) -> list[dict[str, Any]]:
    with client.stream("POST", GENERATE, json={**body, "stream": True}) as reply:
        lines = [line.removeprefix("data: ") for line in reply.iter_lines() if line]
    assert lines.pop() == "[DONE]"
    return [json.loads(line) for line in lines]


def test_the_ids_up_to_the_token_that_completes_the_string(
    engine_client: httpx.Client, tokenizer: _core.Tokenizer
) -> None:
    """The expected ids are those of the same request without the string, up to the first prefix that has it."""
    free = choice(engine_client)["token_ids"]
    text = tokenizer.decode(free)
    for begin in range(2, len(text) - 6, 25):
        stop = text[begin : begin + 4]
        length = next(n for n in range(1, len(free) + 1) if stop in tokenizer.decode(free[:n]))
        got = choice(engine_client, stop=[stop, "never written"])
        assert got["token_ids"] == free[:length]
        assert (got["finish_reason"], got["stop_reason"]) == ("stop", stop)
        chunks = streamed(
            engine_client,
            {
                "token_ids": PROMPT,
                "sampling_params": {"temperature": 0, "max_tokens": 30, "ignore_eos": True, "stop": stop},
            },
        )
        ids = [token for chunk in chunks for token in chunk["choices"][0]["token_ids"]]
        assert ids == free[:length]
        last = chunks[-1]["choices"][0]
        assert (last["finish_reason"], last["stop_reason"]) == ("stop", stop)


def test_min_tokens_and_the_last_token(engine_client: httpx.Client, tokenizer: _core.Tokenizer) -> None:
    free = choice(engine_client)["token_ids"]
    stop = tokenizer.decode(free[:1])
    held = choice(engine_client, stop=[stop], min_tokens=5)
    assert len(held["token_ids"]) > 5
    # A string that the last token completes has stopped the generation all the same.
    text = tokenizer.decode(free[:6])
    last = choice(engine_client, stop=[text[-3:]], max_tokens=6)
    assert last["finish_reason"] == "stop"


def test_each_choice_ends_for_itself(engine_client: httpx.Client, tokenizer: _core.Tokenizer) -> None:
    answer = ask(engine_client, stop=["e "], n=4, temperature=1.2, seed=11, max_tokens=60)
    lengths = set()
    for got in answer["choices"]:
        ids = got["token_ids"]
        lengths.add(len(ids))
        assert "e " not in tokenizer.decode(ids[:-1])
        met = "e " in tokenizer.decode(ids)
        assert (got["finish_reason"], got["stop_reason"]) == (("stop", "e ") if met else ("length", None))
        assert met or len(ids) == 60
    assert len(lengths) > 1
    assert answer["usage"]["completion_tokens"] == sum(len(got["token_ids"]) for got in answer["choices"])


def test_the_engine_stops_with_the_string(engine_client: httpx.Client) -> None:
    """Not a token more than a step's is made after it."""

    def generated() -> float:
        lines = engine_client.get("/metrics").text.splitlines()
        (line,) = [line for line in lines if line.startswith("vllm:generation_tokens_total ")]
        return float(line.rsplit(" ", 1)[1])

    before = generated()
    got = choice(engine_client, stop=[" "], max_tokens=3000)
    while at_work(engine_client):
        time.sleep(0.01)
    assert generated() - before <= len(got["token_ids"]) + 2


QUESTIONS = ("What is the capital of France?", "Count to five.", "Say hello.", "Name three colours.")


@pytest.mark.parametrize("include", [False, True])
@pytest.mark.parametrize("stream", [False, True])
def test_three_steps_with_stop_strings(
    include: bool,
    stream: bool,
    render_client: httpx.Client,
    engine_client: httpx.Client,
    coupled_client: httpx.Client,
) -> None:
    """Render, generate, derender, wired without a change: the answer of the coupled server, cut at the string."""
    for question in QUESTIONS:
        request = {
            "model": "smollm2",
            "messages": [{"role": "user", "content": question}],
            "temperature": 0,
            "max_tokens": 40,
            "stop": [" is", "o,", "."],
            "include_stop_str_in_output": include,
        }
        coupled = coupled_client.post(CHAT, json=request).json()["choices"][0]
        rendered = render_client.post(f"{CHAT}/render", json={**request, "stream": stream}).json()
        parts: dict[str, Any] = {"model": "smollm2", "chat_request": request}
        parts["prompt_token_ids"] = rendered["token_ids"]
        if stream:
            text, state, last = "", None, None
            for chunk in streamed(engine_client, rendered):
                fields = {**parts, "stream": True, "generate_chunk": chunk, "stream_state": state}
                reply = render_client.post(f"{CHAT}/derender", json=fields)
                assert reply.status_code == 200, reply.text
                state = reply.json()["stream_state"]
                (last,) = reply.json()["chunk"]["choices"]
                text += last["delta"].get("content") or ""
            assert last is not None
        else:
            generated = engine_client.post(GENERATE, json=rendered).json()
            reply = render_client.post(f"{CHAT}/derender", json={**parts, "generate_response": generated})
            (last,) = reply.json()["choices"]
            text = last["message"]["content"]
        assert text == coupled["message"]["content"]
        assert last["finish_reason"] == coupled["finish_reason"]
        assert last["stop_reason"] == coupled["stop_reason"]
        if coupled["finish_reason"] == "stop" and coupled["stop_reason"] is not None:
            assert any(string in text for string in request["stop"]) == include


def test_thousands_of_stop_strings(engine_client: httpx.Client, tokenizer: _core.Tokenizer) -> None:
    """The one that is met is told, and finding it takes no longer than with a few."""
    stop = tokenizer.decode(choice(engine_client)["token_ids"])[4:8]
    strings = [f"~{number}" for number in range(9000)]
    began = time.monotonic()
    got = choice(engine_client, stop=[*strings, stop])
    assert (got["finish_reason"], got["stop_reason"]) == ("stop", stop)
    many = ask(engine_client, stop=[*strings, stop], n=64, temperature=1, max_tokens=4)
    assert len(many["choices"]) == 64
    assert time.monotonic() - began < 10
