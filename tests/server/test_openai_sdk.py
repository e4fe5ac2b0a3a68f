"""The OpenAI SDK against plain `dragoman serve`."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import openai
import pytest

from dragoman.cli.server_process import ServerProcess

ANSWER = "The capital of France is Paris."
QUESTION = {"role": "user", "content": "What is the capital of France?"}


@pytest.fixture(scope="module")
def client(coupled_server: ServerProcess) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{coupled_server.url}/v1", api_key="none", max_retries=0) as sdk:
        yield sdk


def test_models(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list().data] == ["smollm2"]


def test_chat(client: openai.OpenAI) -> None:
    completion = client.chat.completions.create(model="smollm2", messages=[QUESTION], temperature=0)
    (choice,) = completion.choices
    assert choice.message.role == "assistant"
    assert choice.message.content == ANSWER
    assert choice.finish_reason == "stop"
    assert completion.id.startswith("chatcmpl-")
    assert completion.object == "chat.completion"
    assert completion.usage is not None
    assert completion.usage.completion_tokens == 8
    assert completion.usage.total_tokens == completion.usage.prompt_tokens + 8


def test_chat_streamed(client: openai.OpenAI) -> None:
    stream = client.chat.completions.create(
        model="smollm2",
        messages=[QUESTION],
        temperature=0,
        stream=True,
        stream_options={"include_usage": True},
    )
    chunks = list(stream)
    text = "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)
    assert text == ANSWER
    reasons = [choice.finish_reason for chunk in chunks for choice in chunk.choices]
    assert reasons[-1] == "stop"
    assert set(reasons[:-1]) == {None}
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens == 8
    assert len({chunk.id for chunk in chunks}) == 1


def test_several_choices(client: openai.OpenAI) -> None:
    completion = client.chat.completions.create(
        model="smollm2", messages=[QUESTION], n=3, seed=1, max_tokens=4
    )
    assert [choice.index for choice in completion.choices] == [0, 1, 2]
    assert {choice.finish_reason for choice in completion.choices} == {"length"}


@pytest.mark.parametrize(
    ("stop", "text", "tokens"),
    [("Paris", "The capital of France is ", 6), (["zzz", " of"], "The capital", 3)],
)
def test_stop_strings_end_the_generation(
    stop: str | list[str], text: str, tokens: int, client: openai.OpenAI
) -> None:
    request = {"model": "smollm2", "messages": [QUESTION], "temperature": 0, "stop": stop}
    completion = client.chat.completions.create(**request)
    (choice,) = completion.choices
    assert (choice.message.content, choice.finish_reason) == (text, "stop")
    assert completion.usage is not None
    # The engine stopped there too: no token after the one that completed the string.
    assert completion.usage.completion_tokens == tokens
    with_usage = {"stream": True, "stream_options": {"include_usage": True}}
    chunks = list(client.chat.completions.create(**request, **with_usage))
    assert "".join(c.delta.content or "" for chunk in chunks for c in chunk.choices) == text
    assert chunks[-1].usage == completion.usage


def test_bad_words_are_not_said(client: openai.OpenAI) -> None:
    completion = client.chat.completions.create(
        model="smollm2", messages=[QUESTION], temperature=0, max_tokens=8, extra_body={"bad_words": ["Paris"]}
    )
    content = completion.choices[0].message.content
    assert content is not None
    assert content.startswith("The capital of France is")
    assert "Paris" not in content


def test_logprobs(client: openai.OpenAI) -> None:
    completion = client.chat.completions.create(
        model="smollm2", messages=[QUESTION], temperature=0, max_tokens=3, logprobs=True, top_logprobs=2
    )
    logprobs = completion.choices[0].logprobs
    assert logprobs is not None
    assert logprobs.content is not None
    assert "".join(entry.token for entry in logprobs.content) == "The capital of"
    assert all(len(entry.top_logprobs) == 2 for entry in logprobs.content)
    # Greedy: the token taken is the likeliest.
    assert all(entry.logprob == entry.top_logprobs[0].logprob for entry in logprobs.content)


def test_completions(client: openai.OpenAI) -> None:
    prompts = ["The capital of France is", "The capital of Italy is"]
    completion = client.completions.create(model="smollm2", prompt=prompts, temperature=0, max_tokens=3)
    assert [choice.index for choice in completion.choices] == [0, 1]
    assert "Paris" in completion.choices[0].text
    assert "Rome" in completion.choices[1].text
    assert completion.usage is not None
    assert completion.usage.completion_tokens == 6


def test_completions_streamed(client: openai.OpenAI) -> None:
    prompt = "The capital of France is"
    whole = client.completions.create(model="smollm2", prompt=prompt, temperature=0, max_tokens=5)
    stream = client.completions.create(
        model="smollm2", prompt=prompt, temperature=0, max_tokens=5, stream=True
    )
    assert "".join(choice.text for chunk in stream for choice in chunk.choices) == whole.choices[0].text


def test_an_unknown_model(client: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as caught:
        client.chat.completions.create(model="nope", messages=[QUESTION])
    assert caught.value.param == "model"


def test_a_bad_value(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(model="smollm2", messages=[QUESTION], temperature=-1)
    assert "temperature" in caught.value.message


@pytest.mark.parametrize(
    "path",
    [
        "/v1/chat/completions/render",
        "/v1/completions/render",
        "/v1/chat/completions/derender",
        "/inference/v1/generate",
        "/inference/v1/abort_requests",
        "/abort_requests",
    ],
)
def test_the_scale_out_endpoints_are_off(path: str, coupled_client: httpx.Client) -> None:
    assert coupled_client.post(path, json={}).status_code == 404


def test_the_switch_is_said_once(coupled_server: ServerProcess) -> None:
    assert coupled_server.log().count("--enable-scale-out") == 1
