"""The three steps over HTTP, between two real server processes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import httpx

from dragoman.cli.server_process import ServerProcess

EXAMPLE = Path(__file__).resolve().parents[2] / "examples/three_steps.py"
ANSWER = "The capital of France is Paris."
# As vLLM 0.32 generates them, greedy.
GENERATED = [504, 3575, 282, 4649, 314, 7042, 30, 2]


def test_the_example_runs(render_server: ServerProcess, engine_server: ServerProcess) -> None:
    command = [sys.executable, str(EXAMPLE), "--render", render_server.url, "--generate", engine_server.url]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[1].endswith(str(GENERATED))
    assert lines[2] == ANSWER


def test_what_render_answers_is_what_generate_takes(
    render_client: httpx.Client, engine_client: httpx.Client
) -> None:
    chat = {
        "messages": [{"role": "user", "content": "What is the capital of France?"}],
        "temperature": 0,
        "max_completion_tokens": 32,
        "request_id": "mine",
    }
    rendered = render_client.post("/v1/chat/completions/render", json=chat).json()
    generated = engine_client.post("/inference/v1/generate", json=rendered).json()
    assert generated["choices"][0]["token_ids"] == GENERATED
    assert generated["usage"]["prompt_tokens"] == len(rendered["token_ids"])
    body = {"generate_response": generated, "prompt_tokens": len(rendered["token_ids"])}
    # Without the chat request the ids are detokenized only.
    for request in ({}, {"chat_request": chat}):
        reply = render_client.post("/v1/chat/completions/derender", json={**body, **request})
        assert reply.status_code == 200, reply.text
        completion = reply.json()
        assert completion["id"] == generated["request_id"]
        assert completion["choices"][0]["message"]["content"] == ANSWER
        assert completion["choices"][0]["finish_reason"] == "stop"
        assert completion["usage"]["total_tokens"] == len(rendered["token_ids"]) + len(GENERATED)


def test_a_stream_carried_by_the_client(render_client: httpx.Client, engine_client: httpx.Client) -> None:
    chat = {
        "messages": [{"role": "user", "content": "What is the capital of France?"}],
        "temperature": 0,
        "stream": True,
    }
    rendered = render_client.post("/v1/chat/completions/render", json=chat).json()
    reply = engine_client.post("/inference/v1/generate", json=rendered)
    events = [line.removeprefix("data: ") for line in reply.text.splitlines() if line]
    assert events[-1] == "[DONE]"
    text, state, finish = "", None, None
    for event in events[:-1]:
        chunk = json.loads(event)
        body = {"stream": True, "generate_chunk": chunk, "stream_state": state, "chat_request": chat}
        answer = render_client.post("/v1/chat/completions/derender", json=body).json()
        state = answer["stream_state"]
        for choice in answer["chunk"]["choices"]:
            text += choice["delta"].get("content") or ""
            finish = choice.get("finish_reason") or finish
    assert text == ANSWER
    assert finish == "stop"


def test_completions_render_generate_derender(
    render_client: httpx.Client, engine_client: httpx.Client
) -> None:
    request = {"prompt": ["The sky is", "One two three"], "temperature": 0, "max_tokens": 4}
    rendered = render_client.post("/v1/completions/render", json=request).json()
    assert len(rendered) == 2
    responses = [engine_client.post("/inference/v1/generate", json=item).json() for item in rendered]
    body = {
        "generate_responses": responses,
        "prompt_tokens": [len(item["token_ids"]) for item in rendered],
        "completion_request": request,
    }
    completion = render_client.post("/v1/completions/derender", json=body).json()
    ids = [response["choices"][0]["token_ids"] for response in responses]
    texts = [render_client.post("/detokenize", json={"tokens": tokens}).json()["prompt"] for tokens in ids]
    assert [choice["text"] for choice in completion["choices"]] == texts
    assert [choice["index"] for choice in completion["choices"]] == [0, 1]
