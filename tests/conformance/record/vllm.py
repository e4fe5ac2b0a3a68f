"""What vLLM 0.32 answers: its render server, and its engine on a CPU."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.conformance.data import OWN
from tests.conformance.record import requests
from tests.conformance.record.smollm2 import write_directory
from tests.conformance.record.write import write_json, write_lines

START_SECONDS = 600
JSON = {"content-type": "application/json"}
HERMES = ["--tool-call-parser", "hermes", "--enable-auto-tool-choice"]
# File -> flags of the render server.
RENDER_FLAGS: dict[str, list[str]] = {"smollm2": [], "smollm2__hermes": HERMES}
VOLATILE = [
    (re.compile(r"((?:chatcmpl|cmpl)-|resp_)[0-9a-f]{16,32}"), r"\1<uuid>"),
    (re.compile(r"((?:generate-tokens|modelperm|chatcmpl-tool)-)[0-9a-f]{16,32}"), r"\1<id>"),
    (re.compile(r'"created": ?\d+'), '"created":0'),
]


@contextmanager
def server(command: str, *arguments: str) -> Iterator[httpx.Client]:
    """A client of vLLM started with these arguments; the server ends with the context."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([command, *arguments, "--port", str(port)])
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=300) as client:
            _wait(client, process)
            yield client
    finally:
        process.terminate()
        process.wait(60)


def _wait(client: httpx.Client, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if client.get("/health").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(1)
    raise RuntimeError("vLLM did not start")


def _normal(text: str) -> str:
    for pattern, replacement in VOLATILE:
        text = pattern.sub(replacement, text)
    return text


def ask(client: httpx.Client, path: str, body: Any) -> dict[str, Any]:
    """The status and the answer, without what differs each time. A body of text is sent as it stands."""
    method, _, path = path.rpartition(" ")
    content = body if isinstance(body, str) else None if body is None else json.dumps(body)
    reply = client.request(method or "POST", path, content=content, headers=JSON)
    text = _normal(reply.text)
    if reply.headers.get("content-type", "").startswith("application/json"):
        return {"status": reply.status_code, "response": json.loads(text)}
    return {"status": reply.status_code, "response": text}


def _render(client: httpx.Client, flags: list[str]) -> Iterator[dict[str, Any]]:
    for name, (path, body) in requests.RENDER.items():
        headers = JSON if isinstance(body, str) else None
        case = {"name": name, "flags": flags, "path": path, "headers": headers, "body": body}
        yield {**case, **ask(client, path, body)}


def _derender(client: httpx.Client, flags: list[str]) -> Iterator[dict[str, Any]]:
    for name, (text, chat) in requests.DERENDER.items():
        reply = client.post("/tokenize", json={"prompt": text, "add_special_tokens": False}).json()
        ids = reply["tokens"]
        choice = {"index": 0, "token_ids": ids, "finish_reason": "stop", "stop_reason": None}
        body = {
            "model": "m",
            "generate_response": {"request_id": "r", "choices": [choice]},
            "prompt_token_ids": requests.PROMPT,
            "chat_request": chat,
        }
        whole = ask(client, "/v1/chat/completions/derender", body)
        streams = {str(size): _stream(client, ids, size, chat) for size in (1, 4)}
        yield {"name": name, "flags": flags, "body": body, **whole, "streams": streams}


def _stream(client: httpx.Client, ids: list[int], size: int, chat: dict[str, Any]) -> list[Any]:
    """The client's chunks of a stream that brings `size` ids at a time."""
    chunks, state = [], None
    for start in range(0, len(ids), size):
        last = start + size >= len(ids)
        choice = {
            "index": 0,
            "token_ids": ids[start : start + size],
            "finish_reason": "stop" if last else None,
        }
        body = {
            "stream": True,
            "model": "m",
            "generate_chunk": {"request_id": "r", "choices": [choice]},
            "stream_state": state,
            "prompt_token_ids": requests.PROMPT,
            "chat_request": chat,
        }
        answer = ask(client, "/v1/chat/completions/derender", body)["response"]
        if "chunk" not in answer:
            # An error ends a stream.
            return [*chunks, answer]
        state = answer["stream_state"]
        chunks.append(answer["chunk"])
    return chunks


def _generate(client: httpx.Client) -> Iterator[dict[str, Any]]:
    for name, body in requests.GENERATE.items():
        yield {"name": name, "body": body, **ask(client, "/inference/v1/generate", body)}


def record(command: str) -> None:
    """Writes `render/`, `derender/`, `engine.jsonl` and the defaults of the sampling parameters."""
    with tempfile.TemporaryDirectory() as folder:
        write_directory(Path(folder))
        for name, flags in RENDER_FLAGS.items():
            with server(command, "launch", "render", folder, "--served-model-name", "m", *flags) as client:
                write_lines(OWN / "render" / f"{name}.jsonl", _render(client, flags))
                if flags:
                    write_lines(OWN / "derender" / f"{name}.jsonl", _derender(client, flags))
        serve = (
            "serve",
            folder,
            "--served-model-name",
            "smol",
            "--max-model-len",
            "4096",
            "--gpu-memory-utilization",
            "0.2",
        )
        with server(command, *serve, "--tokens-only", "--dtype", "bfloat16") as client:
            write_lines(OWN / "engine.jsonl", _generate(client))
    write_json(OWN / "sampling_params.json", _sampling_defaults(command))


def _sampling_defaults(command: str) -> Any:
    """Name -> default of each sampling parameter, from the reference's own class."""
    program = (
        "import json, msgspec; from vllm import SamplingParams as P;"
        "print(json.dumps({f.encode_name: {'default': msgspec.to_builtins(getattr(P(), f.name))}"
        " for f in msgspec.structs.fields(P)}, default=str))"
    )
    python = Path(command).with_name("python")
    return json.loads(
        subprocess.run(
            [python, "-c", program], check=True, capture_output=True, text=True
        ).stdout.splitlines()[-1]
    )
