"""Every limit on a request, at the limit and one past it, and a server that stays awake meanwhile."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import httpx
import pytest

from dragoman import Renderer, RequestError
from dragoman.cli.server_process import ServerProcess
from dragoman.config import Bounds

USER = {"role": "user", "content": "x"}
ASSISTANT = {"role": "assistant", "content": "y"}
TOOL = {"type": "function", "function": {"name": "f"}}


@cache
def core(**bounds: int) -> Renderer:
    return Renderer.from_model("smollm2", bounds=Bounds(**bounds))


def nested(depth: int) -> bytes:
    """A chat whose JSON nests that deep."""
    inner = depth - 2
    return (
        b'{"messages":[{"role":"user","content":"x"}],"x":' + b"[" * (inner + 1) + b"]" * (inner + 1) + b"}"
    )


def body(**fields: Any) -> bytes:
    return json.dumps({"messages": [USER], **fields}).encode()


def padded(size: int) -> bytes:
    """A chat of that many bytes."""
    shell = len(body(user=""))
    return body(user="p" * (size - shell))


CHATS: dict[str, tuple[dict[str, int], Callable[[int], bytes]]] = {
    "body_bytes": ({"body_bytes": 300}, padded),
    "json_depth": ({"json_depth": 9}, nested),
    "messages": ({"messages": 5}, lambda count: body(messages=([USER, ASSISTANT] * count)[:count])),
    "tools": ({"tools": 3}, lambda count: body(tools=[TOOL] * count, tool_choice="none")),
    "string_bytes": ({"string_bytes": 20}, lambda size: body(stop=["s" * size])),
}


@pytest.mark.parametrize("limit", CHATS)
def test_a_limit_on_chats(limit: str) -> None:
    bounds, make = CHATS[limit]
    renderer = core(**bounds)
    value = bounds[limit]
    assert json.loads(renderer.chat_bytes(make(value)))["token_ids"]
    with pytest.raises(RequestError) as refused:
        renderer.chat_bytes(make(value + 1))
    assert refused.value.kind == ("too_large" if limit == "body_bytes" else "validation")
    assert str(value) in refused.value.message


def test_the_limit_on_prompts() -> None:
    renderer = core(prompts=3)
    assert len(renderer.completions({"prompt": ["a"] * 3})) == 3
    with pytest.raises(RequestError, match="3"):
        renderer.completions({"prompt": ["a"] * 4})


def templated(template: str, **bounds: int) -> Renderer:
    return Renderer.from_model(
        "smollm2", chat_template=template, template_engine="minijinja", bounds=Bounds(**bounds)
    )


def test_the_limits_on_templates() -> None:
    request = {"messages": [USER]}
    steps = templated("{% for a in range(50) %}{{ a }}{% endfor %}", template_steps=20)
    with pytest.raises(RequestError, match="20 steps"):
        steps.chat(request)
    assert templated("{% for a in range(50) %}{{ a }}{% endfor %}").chat(request)["token_ids"]
    long = "{{ 'ab ' * 1000 }}"
    with pytest.raises(RequestError, match="2999"):
        templated(long, template_bytes=2999).chat(request)
    assert templated(long, template_bytes=3000).chat(request)["token_ids"]


BOMBS = [
    "{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}",
    "{% for a in range(99999) %}{% for b in range(99999) %}{% set c = a %}{% endfor %}{% endfor %}",
    "{{ 'x' * 10**9 }}",
    "{{ range(10**12) | list | length }}",
    "{% set ns = namespace(s='xxxxxxxx') %}{% for i in range(60) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}{{ ns.s }}",
    "{% macro m(n) %}{{ m(n + 1) }}{% endmacro %}{{ m(0) }}",
    "{{ '%999999999d' % 1 }}",
    "{{ 'a'.center(10**10) }}",
    "{{ 10 ** (10 ** 10) }}",
]


@pytest.mark.parametrize("engine", ["minijinja", "jinja2"])
@pytest.mark.parametrize("bomb", BOMBS)
def test_template_bombs_end_soon(bomb: str, engine: str) -> None:
    from dragoman import ChatTemplate

    template = ChatTemplate(bomb, engine=engine)  # type: ignore[arg-type]
    begin = time.perf_counter()
    with pytest.raises((ValueError, ArithmeticError, MemoryError)):
        template.render([USER])
    assert time.perf_counter() - begin < (1 if engine == "minijinja" else 8)


def test_health_stays_fast_while_large_bodies_are_rendered() -> None:
    """vllm-project/vllm#24910, huggingface/text-generation-inference#1802."""
    flags = ("--trust-request-chat-template", "--host", "127.0.0.1", "--port", "0")
    with (
        ServerProcess("launch", "render", "smollm2", *flags) as server,
        httpx.Client(base_url=server.url) as http,
    ):
        url = "/v1/chat/completions/render"
        huge = {"messages": [{"role": "user", "content": "word " * 5_000_000}]}
        bomb = {"messages": [USER], "chat_template": BOMBS[0]}
        chat = {"messages": [{"role": "user", "content": "tell me more " * 40_000}, ASSISTANT, USER]}
        answers: list[httpx.Response] = []

        def ask() -> None:
            with httpx.Client(base_url=server.url, timeout=60) as client:
                answers.extend(client.post(url, json=request) for request in (huge, bomb, chat))

        client = threading.Thread(target=ask)
        client.start()
        slowest = 0.0
        while client.is_alive():
            begin = time.perf_counter()
            assert http.get("/health").status_code == 200
            slowest = max(slowest, time.perf_counter() - begin)
            time.sleep(0.01)
        client.join()
        assert slowest < 1.0
        assert [answer.status_code for answer in answers] == [400, 400, 400]
        params = [answer.json()["error"]["param"] for answer in answers]
        assert params == ["input_text", None, "input_tokens"]

        limit = Bounds().body_bytes
        refused = http.post(url, content=padded(limit + 1), headers={"content-type": "application/json"})
        assert refused.status_code == 413
        assert refused.json()["error"]["code"] == 413
        assert http.post(url, json={"messages": [USER]}).status_code == 200


@pytest.mark.parametrize("field", ["request_id", "stop", "bad_words"])
def test_long_names_in_a_generate_request(field: str, engine_client: httpx.Client) -> None:
    """An id stands in every event of a stream: what is long there comes back as often."""
    limit = Bounds().string_bytes

    def ask(text: str) -> httpx.Response:
        body: dict[str, Any] = {"token_ids": [1], "sampling_params": {"max_tokens": 1}}
        if field == "request_id":
            body[field] = text
        else:
            body["sampling_params"][field] = [text]
        return engine_client.post("/inference/v1/generate", json=body)

    assert ask("s" * limit).status_code == 200
    refused = ask("s" * (limit + 1))
    assert refused.status_code == 400
    assert f"at most {limit}" in refused.json()["error"]["message"]


# In the order in which they are checked, as `protocol/src/bounds.rs` lists them: what breaks a limit, and words of the
# refusal.
ORDER: dict[str, tuple[dict[str, Any], str]] = {
    "body_bytes": ({"user": "p" * 9000}, "the body has"),
    "json_depth": ({"metadata": [[[[[[[[[[[[]]]]]]]]]]]]}, "nests deeper"),
    "messages": ({"messages": [USER, ASSISTANT] * 3}, "messages has 6 items"),
    "tools": ({"tools": [TOOL] * 4 + [{"type": 5}]}, "tools has 5 items"),
    "string_bytes": ({"stop": ["s" * 40]}, "stop has 40 bytes"),
    "choices": ({"n": 4}, "n must be at most 3"),
}


@pytest.mark.parametrize("later", ORDER)
@pytest.mark.parametrize("first", ORDER)
def test_the_first_limit_that_is_broken_is_reported(first: str, later: str) -> None:
    order = list(ORDER)
    if order.index(first) >= order.index(later):
        return
    renderer = core(
        body_bytes=8000, json_depth=9, messages=5, tools=3, string_bytes=20, choices=3, template_steps=10_000
    )
    # The later fault stands first in the body.
    fields = {**ORDER[later][0], **ORDER[first][0]}
    with pytest.raises(RequestError, match=ORDER[first][1]):
        renderer.chat_bytes(body(**fields))


def test_a_prompt_is_bounded_before_it_is_encoded() -> None:
    """The template's budget comes before the bound on characters, and that before the one on tokens."""
    long = {"messages": [{"role": "user", "content": "word " * 60_000}]}
    with pytest.raises(RequestError) as refused:
        core().chat(long)
    assert refused.value.param == "input_tokens"
    with pytest.raises(RequestError) as refused:
        core().chat({"messages": [{"role": "user", "content": "word " * 600_000}]})
    assert refused.value.param == "input_text"
    with pytest.raises(RequestError, match="template"):
        core(template_bytes=1000).chat({"messages": [{"role": "user", "content": "word " * 600_000}]})


def test_choices_are_bounded_alike_at_every_step(engine_client: httpx.Client) -> None:
    limit = Bounds().choices
    for n, status in ((limit, 200), (limit + 1, 400)):
        chat = engine_client.post("/v1/chat/completions/render", json={"messages": [USER], "n": n})
        completion = engine_client.post("/v1/completions/render", json={"prompt": "x", "n": n})
        choices = [{"index": index, "token_ids": [504], "finish_reason": "stop"} for index in range(n)]
        answer = {"generate_response": {"request_id": "r", "choices": choices}}
        derendered = engine_client.post("/v1/chat/completions/derender", json=answer)
        assert [reply.status_code for reply in (chat, completion, derendered)] == [status] * 3
    params = {"n": limit + 1, "max_tokens": 1}
    refused = engine_client.post(
        "/inference/v1/generate", json={"token_ids": [504], "sampling_params": params}
    )
    assert refused.status_code == 400
    assert f"n must be at most {limit}" in refused.json()["error"]["message"]
