"""Rendering beside transformers: `pytest benches/ -k render -s`.

The peer is `apply_chat_template(tokenize=True)` of a fast tokenizer, in the same process, with the same template.
"""

from __future__ import annotations

import itertools
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from benches.conversations import document, growing, short_chat
from benches.peers import report, seconds_each
from dragoman import Renderer
from dragoman.hub import resolve

MODEL = "smollm2"


@pytest.fixture(scope="module")
def renderer() -> Renderer:
    # A longer context than the model's: the 100 kB conversation must fit.
    return Renderer.from_model(MODEL, hf_overrides={"max_position_embeddings": 131_072})


@pytest.fixture(scope="module")
def peer() -> Any:
    transformers = pytest.importorskip("transformers")
    files = resolve(MODEL, weights=False)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(files.tokenizer_json), **files.special_tokens
    )
    tokenizer.chat_template = files.chat_template
    return tokenizer


def tokenize(peer: Any, messages: list[dict[str, Any]]) -> list[int]:
    encoding = peer.apply_chat_template(messages, tokenize=True, add_generation_prompt=True, return_dict=True)
    ids: list[int] = encoding["input_ids"]
    return ids


def body(messages: list[dict[str, Any]]) -> bytes:
    return json.dumps({"messages": messages}).encode()


def test_render_short_chat(renderer: Renderer, peer: Any) -> None:
    messages = short_chat()
    assert json.loads(renderer.chat_bytes(body(messages)))["token_ids"] == tokenize(peer, messages)
    payload = body(messages)
    ours, theirs = seconds_each(lambda: renderer.chat_bytes(payload), lambda: tokenize(peer, messages))
    report("render: short chat", ours, theirs, "transformers")


def test_render_document(renderer: Renderer, peer: Any) -> None:
    """Each document is new: nothing of it has been encoded before."""
    documents = [document(seed) for seed in range(200)]
    bodies = itertools.cycle([body(messages) for messages in documents])
    others = itertools.cycle(documents)
    assert json.loads(renderer.chat_bytes(next(bodies)))["token_ids"] == tokenize(peer, documents[0])
    ours, theirs = seconds_each(
        lambda: renderer.chat_bytes(next(bodies)), lambda: tokenize(peer, next(others))
    )
    report("render: 16 kB document", ours, theirs, "transformers")


def test_render_growing_conversation(renderer: Renderer, peer: Any) -> None:
    """The last turns of a conversation, one after another: what came before has been seen."""
    messages = growing()
    parts = [messages[:length] for length in range(61, len(messages) + 1, 2)]
    bodies = itertools.cycle([body(part) for part in parts])
    others = itertools.cycle(parts)
    assert json.loads(renderer.chat_bytes(body(messages)))["token_ids"] == tokenize(peer, messages)
    ours, theirs = seconds_each(
        lambda: renderer.chat_bytes(next(bodies)), lambda: tokenize(peer, next(others))
    )
    report("render: growing conversation, 60 to 100 kB", ours, theirs, "transformers")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "dragoman.cli", "launch", "render", MODEL, "--host", "127.0.0.1"]
    process = subprocess.Popen(
        [*command, "--port", str(port), "--log-level", "error"], stdout=subprocess.DEVNULL
    )
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(200):
            try:
                httpx.get(f"{url}/health")
                break
            except httpx.TransportError:
                time.sleep(0.05)
        yield url
    finally:
        process.terminate()
        process.wait(10)


def test_render_over_http(server: str, peer: Any) -> None:
    """Four connections that ask one short chat after another, beside transformers in process."""
    messages = short_chat()
    payload = body(messages)
    requests = 2000

    def ask(count: int) -> None:
        with httpx.Client(base_url=server, headers={"content-type": "application/json"}) as client:
            for _ in range(count):
                assert client.post("/v1/chat/completions/render", content=payload).status_code == 200

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(ask, [50] * 4))
        begin = time.perf_counter()
        list(pool.map(ask, [requests // 4] * 4))
        ours = (time.perf_counter() - begin) / requests
    begin = time.perf_counter()
    for _ in range(200):
        tokenize(peer, messages)
    theirs = (time.perf_counter() - begin) / 200
    report("render: short chat over HTTP, 4 connections", ours, theirs, "transformers")
    print(f"{1 / ours:,.0f} requests per second (the client takes its share of the CPU)")
