"""The OpenAI and Anthropic SDKs against the render server, as far as their types go."""

from __future__ import annotations

from collections.abc import Iterator

import anthropic
import openai
import pytest
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from openai.types import Completion
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from dragoman.cli.server_process import ServerProcess

MODEL = "smollm2"
PARIS = [504, 3575, 282, 4649, 314, 7042, 30, 2]


@pytest.fixture(scope="module")
def openai_sdk(render_server: ServerProcess) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{render_server.url}/v1", api_key="none", max_retries=0) as sdk:
        yield sdk


@pytest.fixture(scope="module")
def anthropic_sdk(render_server: ServerProcess) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=render_server.url, api_key="none", max_retries=0) as sdk:
        yield sdk


def test_openai_messages_and_anthropic_messages_are_the_same_prompt(
    openai_sdk: openai.OpenAI, anthropic_sdk: anthropic.Anthropic
) -> None:
    request: MessageCreateParamsNonStreaming = {
        "model": MODEL,
        "max_tokens": 8,
        "system": "Be brief.",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
    }
    rendered = anthropic_sdk.post("/v1/messages/render", body=request, cast_to=object)
    chat = {
        "model": MODEL,
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
    }
    other = openai_sdk.post("/chat/completions/render", body=chat, cast_to=object)
    assert isinstance(rendered, dict)
    assert isinstance(other, dict)
    assert rendered["token_ids"] == other["token_ids"]
    assert rendered["sampling_params"]["max_tokens"] == 8


def test_a_refusal_is_the_sdks_error(openai_sdk: openai.OpenAI, anthropic_sdk: anthropic.Anthropic) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        openai_sdk.post("/chat/completions/render", body={"messages": [], "model": MODEL}, cast_to=object)
    assert refused.value.type == "BadRequestError"
    with pytest.raises(openai.NotFoundError):
        openai_sdk.post("/completions/render", body={"prompt": "x", "model": "nope"}, cast_to=object)
    with pytest.raises(anthropic.BadRequestError, match="max_tokens"):
        anthropic_sdk.post("/v1/messages/render", body={"model": MODEL, "messages": []}, cast_to=object)


def test_derendered_answers_are_the_sdks_types(openai_sdk: openai.OpenAI) -> None:
    response = {"request_id": "r", "choices": [{"index": 0, "token_ids": PARIS, "finish_reason": "stop"}]}
    chat = {"messages": [{"role": "user", "content": "x"}]}
    body = {"model": MODEL, "generate_response": response, "prompt_tokens": 16, "chat_request": chat}
    completion = openai_sdk.post("/chat/completions/derender", body=body, cast_to=ChatCompletion)
    assert completion.choices[0].message.content == "The capital of France is Paris."
    assert completion.usage is not None
    assert completion.usage.total_tokens == 24

    chunk = {"request_id": "r", "choices": [{"index": 0, "token_ids": PARIS[:3], "finish_reason": None}]}
    body = {"model": MODEL, "stream": True, "generate_chunk": chunk, "chat_request": chat}
    streamed = openai_sdk.post("/chat/completions/derender", body=body, cast_to=object)
    assert isinstance(streamed, dict)
    delta = ChatCompletionChunk.model_validate(streamed["chunk"])
    assert delta.choices[0].delta.content == "The capital of"

    texts = {"model": MODEL, "generate_responses": [response], "prompt_tokens": [16]}
    text = openai_sdk.post("/completions/derender", body=texts, cast_to=Completion)
    assert text.choices[0].text == "The capital of France is Paris."
