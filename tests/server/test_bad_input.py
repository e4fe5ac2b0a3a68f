"""Every kind of bad input gets a 4xx that names the parameter, and the server goes on."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

CHAT = "/v1/chat/completions/render"
COMPLETION = "/v1/completions/render"
DERENDER = "/v1/chat/completions/derender"
COMPLETION_DERENDER = "/v1/completions/derender"
GENERATE = "/inference/v1/generate"
TOKENIZE = "/tokenize"
DETOKENIZE = "/detokenize"
USER = [{"role": "user", "content": "hi"}]
CHOICE = {"index": 0, "token_ids": [504], "finish_reason": "stop"}
RESPONSE = {"request_id": "r", "choices": [CHOICE]}
JSON_HEADERS = {"content-type": "application/json"}
DEEP = "[" * 100_000
# One more than the default bound on a body.
TOO_LARGE = 32 * 1024 * 1024 + 1

# Path, body, status, and what the message or the parameter must name.
RENDER_CASES: list[tuple[str, Any, int, str]] = [
    (CHAT, {"messages": USER, "model": "nope"}, 404, "nope"),
    (CHAT, {}, 400, "messages"),
    (CHAT, {"messages": 5}, 400, "messages"),
    (CHAT, {"messages": USER, "temperature": "hot"}, 400, "temperature"),
    (CHAT, {"messages": USER, "temperature": -1}, 400, "temperature"),
    (CHAT, {"messages": USER, "top_p": 0}, 400, "top_p"),
    (CHAT, {"messages": USER, "n": 0}, 400, "n"),
    (CHAT, {"messages": USER, "n": 10**6}, 400, "n"),
    (CHAT, {"messages": USER, "use_beam_search": True}, 400, "Beam search"),
    (CHAT, {"messages": [{"role": "user", "content": "word " * 20_000}]}, 400, "8192"),
    (CHAT, {"messages": USER, "chat_template": "{{ messages }}"}, 400, "trust-request-chat-template"),
    (COMPLETION, {"prompt": "x", "model": "nope"}, 404, "nope"),
    (COMPLETION, {}, 400, "prompt"),
    (COMPLETION, {"prompt": ""}, 400, "prompt"),
    (COMPLETION, {"prompt": [[]]}, 400, "No token_ids rendered"),
    (COMPLETION, {"prompt": [[-1]]}, 400, "-1"),
    (COMPLETION, {"prompt": [[999_999]]}, 400, "999999"),
    (COMPLETION, {"prompt": "x", "use_beam_search": True}, 400, "Beam search"),
    (DERENDER, {"generate_response": RESPONSE, "model": "nope"}, 404, "nope"),
    (DERENDER, {}, 400, "generate_response"),
    (DERENDER, {"generate_response": {"request_id": "r", "choices": 5}}, 400, "choices"),
    (
        DERENDER,
        {"generate_response": {"request_id": "r", "choices": [{**CHOICE, "token_ids": [-1]}]}},
        400,
        "token_ids",
    ),
    (
        DERENDER,
        {"generate_response": {"request_id": "r", "choices": [{**CHOICE, "token_ids": [999_999]}]}},
        400,
        "token_ids",
    ),
    (COMPLETION_DERENDER, {"generate_responses": 7}, 400, "generate_responses"),
    (TOKENIZE, {}, 400, "prompt"),
    (TOKENIZE, {"prompt": "x", "model": "nope"}, 404, "nope"),
    (DETOKENIZE, {"tokens": "x"}, 400, "tokens"),
    (DETOKENIZE, {"tokens": [-1]}, 400, "tokens"),
]
GENERATE_CASES: list[tuple[Any, int, str]] = [
    ({"token_ids": [1]}, 400, "sampling_params"),
    ({"sampling_params": {}}, 400, "token_ids"),
    ({"token_ids": [], "sampling_params": {}}, 400, "token_ids"),
    ({"token_ids": [-1], "sampling_params": {}}, 400, "token_ids"),
    ({"token_ids": [999_999], "sampling_params": {}}, 400, "999999"),
    ({"token_ids": [49_152], "sampling_params": {"max_tokens": 1}}, 400, "49152"),
    ({"token_ids": [5] * 5000, "sampling_params": {}}, 400, "4096"),
    ({"token_ids": [5], "sampling_params": {}, "model": "nope"}, 404, "nope"),
    ({"token_ids": [5], "sampling_params": {"max_tokens": 0}}, 400, "max_tokens"),
    ({"token_ids": [5], "sampling_params": {"n": 10**6}}, 400, "n"),
    ({"token_ids": [5], "sampling_params": {"stop": [""]}}, 400, "stop"),
    ({"token_ids": [5], "sampling_params": {"structured_outputs": {"regex": "a("}}}, 400, "regex"),
    ({"token_ids": [5], "sampling_params": {"allowed_token_ids": [999_999]}}, 400, "allowed_token_ids"),
    ({"token_ids": [5], "sampling_params": {"stop_token_ids": [999_999]}}, 400, "stop_token_ids"),
    ({"token_ids": [5], "sampling_params": {"logprob_token_ids": [999_999]}}, 400, "logprob_token_ids"),
    ({"token_ids": [5], "sampling_params": {"logit_bias": {"x": 1}}}, 400, "logit_bias"),
    ({"token_ids": [5], "sampling_params": {"seed": "x"}}, 400, "seed"),
    ({"token_ids": [5], "sampling_params": {"max_tokens": 2**70}}, 400, "max_tokens"),
    ({"token_ids": [5], "sampling_params": {}, "stream": True, "cache_salt": ""}, 400, "cache_salt"),
]
# Bodies that are no JSON object at all, for every path.
RAW_BODIES = {
    "empty": b"",
    "cut short": b'{"model": ',
    "not JSON": b"{nojson",
    "null": b"null",
    "list": b"[1]",
    "string": b'"x"',
    "NaN": b'{"temperature": NaN}',
    "latin-1": '{"model": "é"}'.encode("latin-1"),
    "lone surrogate": b'{"model": "\\ud800"}',
    "deep": DEEP.encode(),
    "deep objects": b'{"a":' * 50_000,
    "nul": b"\x00",
}


def check_refused(reply: httpx.Response, status: int, named: str) -> None:
    assert reply.status_code == status, reply.text
    error = reply.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["code"] == status
    assert named in f"{error['message']} {error['param']}"
    assert "Traceback" not in reply.text
    # Bodies can hold secrets and megabytes; neither belongs in an answer or a log.
    assert len(reply.content) < 2048


def render_is_alive(client: httpx.Client) -> None:
    reply = client.post(CHAT, json={"messages": USER, "max_tokens": 3})
    assert reply.status_code == 200, reply.text
    assert reply.json()["sampling_params"]["max_tokens"] == 3


# "What is the capital of France?", whose first greedy token is 504 (engine.jsonl, case `greedy`).
PROMPT = [1, 4093, 198, 1780, 314, 260, 3575, 282, 4649, 47, 2, 198, 1, 520, 9531, 198]


def engine_is_alive(client: httpx.Client) -> None:
    body = {"token_ids": PROMPT, "sampling_params": {"temperature": 0, "max_tokens": 1}}
    reply = client.post(GENERATE, json=body)
    assert reply.status_code == 200, reply.text
    assert reply.json()["choices"][0]["token_ids"] == [504]


@pytest.mark.parametrize(("path", "body", "status", "named"), RENDER_CASES)
def test_render_refuses(path: str, body: Any, status: int, named: str, render_client: httpx.Client) -> None:
    check_refused(render_client.post(path, json=body), status, named)
    render_is_alive(render_client)


@pytest.mark.parametrize(("body", "status", "named"), GENERATE_CASES)
def test_generate_refuses(body: Any, status: int, named: str, engine_client: httpx.Client) -> None:
    check_refused(engine_client.post(GENERATE, json=body), status, named)
    engine_is_alive(engine_client)


@pytest.mark.parametrize("kind", sorted(RAW_BODIES))
@pytest.mark.parametrize(
    "path", [CHAT, COMPLETION, DERENDER, COMPLETION_DERENDER, TOKENIZE, DETOKENIZE, GENERATE]
)
def test_bodies_that_are_no_request(path: str, kind: str, engine_client: httpx.Client) -> None:
    reply = engine_client.post(path, content=RAW_BODIES[kind], headers=JSON_HEADERS)
    check_refused(reply, 400, "")


@pytest.mark.parametrize("path", ["/abort_requests", "/inference/v1/abort_requests"])
@pytest.mark.parametrize("body", [*RAW_BODIES.values(), b'{"request_ids": 5}', b'{"request_ids": [5]}'])
def test_abort_refuses(path: str, body: bytes, engine_client: httpx.Client) -> None:
    check_refused(engine_client.post(path, content=body, headers=JSON_HEADERS), 400, "")


@pytest.mark.parametrize("path", [CHAT, DERENDER, TOKENIZE, GENERATE, "/abort_requests"])
@pytest.mark.parametrize("declared", [True, False])
def test_a_body_beyond_the_bound(path: str, declared: bool, engine_client: httpx.Client) -> None:
    piece = b" " * 65536
    if declared:
        reply = engine_client.post(path, content=b" " * TOO_LARGE, headers=JSON_HEADERS)
    else:
        pieces = (piece for _ in range(TOO_LARGE // len(piece) + 1))
        reply = engine_client.post(path, content=pieces, headers=JSON_HEADERS)
    check_refused(reply, 413, str(TOO_LARGE - 1))
    engine_is_alive(engine_client)


@pytest.mark.parametrize("declared", [None, "text/plain", "application/x-www-form-urlencoded", "", "json"])
def test_other_content_types(declared: str | None, render_client: httpx.Client) -> None:
    headers = {} if declared is None else {"content-type": declared}
    body = json.dumps({"messages": USER}).encode()
    check_refused(render_client.post(CHAT, content=body, headers=headers), 400, "application/json")


@pytest.mark.parametrize("declared", ["application/json; charset=utf-8", "APPLICATION/JSON"])
def test_content_types_that_pass(declared: str, render_client: httpx.Client) -> None:
    body = json.dumps({"messages": USER}).encode()
    reply = render_client.post(CHAT, content=body, headers={"content-type": declared})
    assert reply.status_code == 200


@pytest.mark.parametrize("path", ["/", "/v1", "//v1/models", "/v1/models/", "/V1/models", "/x" * 2000])
def test_paths_that_are_not_there(path: str, render_client: httpx.Client) -> None:
    reply = render_client.get(path)
    assert reply.status_code in (404, 307)


def test_methods_that_are_not_there(render_client: httpx.Client) -> None:
    reply = render_client.get(CHAT)
    assert (reply.status_code, reply.json()["error"]["code"]) == (405, 405)
