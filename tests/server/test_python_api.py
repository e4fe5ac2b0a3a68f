"""`from dragoman import Renderer, Derenderer`: the answers of the servers, without HTTP."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from dragoman import Derenderer, Renderer, RequestError

CHAT = {"messages": [{"role": "user", "content": "What is the capital of France?"}], "request_id": "r"}
GENERATED = [504, 3575, 282, 4649, 314, 7042, 30, 2]
ANSWER = "The capital of France is Paris."


@pytest.fixture(scope="module")
def renderer(smollm2: Path) -> Renderer:
    return Renderer.from_model("smollm2")


@pytest.fixture(scope="module")
def derenderer(smollm2: Path) -> Derenderer:
    return Derenderer.from_model("smollm2")


def test_chat_is_what_the_server_answers(renderer: Renderer, render_client: httpx.Client) -> None:
    served = render_client.post("/v1/chat/completions/render", json=CHAT).json()
    assert renderer.chat(CHAT) == served
    assert json.loads(renderer.chat_bytes(json.dumps(CHAT).encode())) == served


def test_completions_is_what_the_server_answers(renderer: Renderer, render_client: httpx.Client) -> None:
    request = {"prompt": ["a", "b"], "request_id": "r"}
    served = render_client.post("/v1/completions/render", json=request).json()
    assert renderer.completions(request) == served
    assert len(served) == 2


def test_tokenize_and_back(renderer: Renderer) -> None:
    tokens = renderer.tokenize({"prompt": ANSWER})["tokens"]
    assert tokens == GENERATED[:-1]
    assert renderer.detokenize({"tokens": tokens})["prompt"] == ANSWER


def test_derender(derenderer: Derenderer) -> None:
    choice = {"index": 0, "token_ids": GENERATED, "finish_reason": "stop", "stop_reason": 2}
    reply = derenderer.chat({"generate_response": {"request_id": "r", "choices": [choice]}})
    assert reply["choices"][0]["message"]["content"] == ANSWER
    assert reply["id"] == "r"


@pytest.mark.parametrize("size", [1, 3, 100])
def test_a_stream_gives_the_same_text_in_any_pieces(size: int, derenderer: Derenderer) -> None:
    stream = derenderer.stream(chat_request=CHAT)
    deltas = [stream.push(GENERATED[at : at + size]) for at in range(0, len(GENERATED), size)]
    deltas.append(stream.finish("stop", 2))
    assert deltas[0]["role"] == "assistant"
    assert "".join(delta.get("content") or "" for delta in deltas) == ANSWER


def test_options_are_those_of_the_server(smollm2: Path) -> None:
    renderer = Renderer.from_model("smollm2", max_model_len=100, served_model_names=("x",))
    rendered = renderer.chat({**CHAT, "model": "x"})
    assert rendered["sampling_params"]["max_tokens"] == 100 - len(rendered["token_ids"])


def test_a_bad_request_tells_kind_message_and_parameter(renderer: Renderer) -> None:
    with pytest.raises(RequestError) as caught:
        renderer.chat({"messages": [], "model": "nope"})
    assert caught.value.kind == "not_found"
    assert caught.value.param == "model"
    assert "nope" in caught.value.message
    assert isinstance(caught.value, ValueError)
