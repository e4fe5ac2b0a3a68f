"""Derendering: `pytest benches/ -k derender -s`.

One-shot beside `transformers` decode and a regex parse in Python; the cost of a chunk early and late in a stream;
incremental detokenization beside the `DecodeStream` of `tokenizers`. All in one process and on one thread, with
tokenizers of the shared data beside the repository.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest

from benches.conversations import text
from benches.peers import report, seconds_each
from dragoman import Derenderer

MODELS = Path(__file__).parents[2] / "shared" / "models"
# A chunk of a stream with `--stream-interval` or an engine's batch: a few ids.
CHUNK = 8


def model(name: str) -> str:
    if not (MODELS / name / "tokenizer.json").is_file():
        pytest.skip(f"no tokenizer of {name} beside the repository")
    return str(MODELS / name)


def fast_tokenizer(name: str) -> Any:
    transformers = pytest.importorskip("transformers")
    return transformers.PreTrainedTokenizerFast(tokenizer_file=f"{model(name)}/tokenizer.json")


def derenderer(name: str, tool: str | None = None, reasoning: str | None = None) -> Derenderer:
    return Derenderer.from_model(
        model(name),
        served_model_names=("m",),
        tool_call_parser=tool,
        reasoning_parser=reasoning,
        enable_auto_tool_choice=tool is not None,
    )


TOOL = {
    "type": "function",
    "function": {
        "name": "write",
        "parameters": {
            "type": "object",
            "properties": {"path": {"type": "string"}, "text": {"type": "string"}},
        },
    },
}
CHAT = {"messages": [{"role": "user", "content": "x"}], "tools": [TOOL]}


def answer_of_1000_tokens(tokenizer: Any) -> list[int]:
    """Reasoning, prose and two calls, in the form of Qwen3; prose fills up to 1,000 tokens."""

    def call(seed: int) -> str:
        arguments = {"path": f"notes/{seed}.md", "text": text(600, seed)}
        return f"<tool_call>\n{json.dumps({'name': 'write', 'arguments': arguments})}\n</tool_call>"

    begin = tokenizer.encode(f"<think>\n{text(1500, 1).strip()}\n</think>\n\n")
    end = tokenizer.encode(f"\n{call(2)}\n{call(3)}<|im_end|>")
    prose = tokenizer.encode(text(6000, 4))
    ids: list[int] = [*begin, *prose[: 1000 - len(begin) - len(end)], *end]
    assert len(ids) == 1000
    return ids


THINK = re.compile(r"<think>(.*?)</think>", re.DOTALL)
TOOL_CALL = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)


def parse_in_python(tokenizer: Any, ids: list[int]) -> dict[str, Any]:
    """What serving code in Python does: decode, split off the reasoning, read the calls."""
    decoded: str = tokenizer.decode(ids, skip_special_tokens=False).removesuffix("<|im_end|>")
    thought = THINK.match(decoded)
    answer = decoded[thought.end() :] if thought else decoded
    calls = [json.loads(found) for found in TOOL_CALL.findall(answer)]
    return {
        "reasoning": thought.group(1) if thought else None,
        "content": answer.partition("<tool_call>")[0],
        "calls": [(call["name"], json.dumps(call["arguments"])) for call in calls],
    }


def test_derender_one_shot() -> None:
    tokenizer = fast_tokenizer("qwen3")
    ours = derenderer("qwen3", "hermes", "qwen3")
    ids = answer_of_1000_tokens(tokenizer)
    choice = {"index": 0, "token_ids": ids, "finish_reason": "stop"}
    response = {"request_id": "r", "choices": [choice]}
    body = json.dumps({"model": "m", "generate_response": response, "chat_request": CHAT}).encode()

    message = json.loads(ours.chat_bytes(body))["choices"][0]["message"]
    parsed = parse_in_python(tokenizer, ids)
    for part in ("reasoning", "content"):
        assert message[part].strip() == parsed[part].strip()
    functions = [call["function"] for call in message["tool_calls"]]
    assert [(function["name"], function["arguments"]) for function in functions] == parsed["calls"]

    mine, theirs = seconds_each(lambda: ours.chat_bytes(body), lambda: parse_in_python(tokenizer, ids))
    report("derender: 1,000 tokens, hermes + qwen3", mine, theirs, "transformers + regex")


@dataclasses.dataclass(frozen=True)
class Family:
    """A parser on a tokenizer, and how an argument begins in its form."""

    model: str
    tool: str
    reasoning: str | None
    argument: str
    prose: str = ""


FAMILIES = [
    Family(
        "qwen3",
        "hermes",
        "qwen3",
        '<think>\n</think>\n<tool_call>\n{"name": "write", "arguments": {"text": "',
        "<think>\n</think>\n",
    ),
    Family(
        "qwen3",
        "qwen3_coder",
        "qwen3",
        "<think>\n</think>\n<tool_call>\n<function=write>\n<parameter=text>\n",
        "<think>\n</think>\n",
    ),
    Family("llama3", "llama3_json", None, '{"name": "write", "parameters": {"text": "'),
    Family("llama3", "pythonic", None, '[write(text="'),
    Family(
        "deepseek",
        "deepseek_v31",
        None,
        '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>write<｜tool▁sep｜>{"text": "',  # noqa: RUF001
    ),
    Family("qwen3", "glm45", None, "<tool_call>write\n<arg_key>text</arg_key>\n<arg_value>"),
    Family("gemma3", "functiongemma", None, "<start_function_call>call:write{text:<escape>"),
    Family("qwen3", "mistral", None, '[TOOL_CALLS]write[ARGS]{"text": "'),
    Family(
        "gptoss",
        "openai",
        "openai_gptoss",
        '<|channel|>commentary to=functions.write <|constrain|>json<|message|>{"text": "',
        "<|channel|>final<|message|>",
    ),
]


class Stream:
    """A client of the stream endpoint: `body` is the next request, `state` what the last answer carried."""

    def __init__(self, server: Derenderer) -> None:
        self.server = server
        self.state: Any = None

    def body(self, ids: list[int]) -> bytes:
        choice = {"index": 0, "token_ids": ids, "finish_reason": None}
        chunk = {"request_id": "r", "choices": [choice]}
        request = {"model": "m", "stream": True, "chat_request": CHAT, "generate_chunk": chunk}
        return json.dumps({**request, "stream_state": self.state}).encode()

    def push(self, ids: list[int]) -> None:
        self.state = json.loads(self.server.chat_bytes(self.body(ids)))["stream_state"]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.tool)
@pytest.mark.parametrize("place", ["prose", "argument"])
def test_derender_chunk(family: Family, place: str) -> None:
    """The same chunk after 100 and after 4,000 tokens of the same stream."""
    tokenizer = fast_tokenizer(family.model)
    server = derenderer(family.model, family.tool, family.reasoning)
    head = tokenizer.encode(
        family.argument if place == "argument" else family.prose, add_special_tokens=False
    )
    words = itertools.cycle(tokenizer.encode(" now and then people come", add_special_tokens=False))
    stream = Stream(server)
    stream.push([*head, *itertools.islice(words, 100 - len(head))])
    chunk = list(itertools.islice(words, CHUNK))
    early = stream.body(chunk)
    stream.push(chunk)
    for _ in range((4000 - 100) // CHUNK - 1):
        stream.push(list(itertools.islice(words, CHUNK)))
    late = stream.body(chunk)

    answers = [server.chat_bytes(body) for body in (early, late)]
    for answer in answers:
        delta = json.loads(answer)["chunk"]["choices"][0]["delta"]
        piece = delta["content"] if place == "prose" else delta["tool_calls"][0]["function"]["arguments"]
        assert len(piece) > CHUNK
    at_100, at_4000 = seconds_each(lambda: server.chat_bytes(early), lambda: server.chat_bytes(late))
    sizes = f"request {len(early)} and {len(late)} bytes, answer {len(answers[0])} and {len(answers[1])}"
    print(
        f"\nderender: chunk of {CHUNK}, {family.tool}, {place}: {at_100 * 1e6:.1f} µs after 100 tokens, "
        f"{at_4000 * 1e6:.1f} after 4,000: ratio {at_4000 / at_100:.2f}; {sizes}"
    )


def test_derender_incremental() -> None:
    """Text of 16 ids at a time, 16,000 in all."""
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = fast_tokenizer("qwen3").backend_tokenizer
    server = derenderer("qwen3")
    ids = tokenizer.encode(text(100_000, 5), add_special_tokens=False).ids[:16_000]
    batches = [ids[start : start + 16] for start in range(0, len(ids), 16)]
    core = server._core

    def ours() -> list[bytes]:
        stream = core.stream([])
        return [stream.push(batch) for batch in batches]

    def parsed() -> list[dict[str, Any]]:
        stream = server.stream([])
        return [stream.push(batch) for batch in batches]

    def theirs() -> list[str | None]:
        stream = tokenizers.decoders.DecodeStream(skip_special_tokens=True)
        return [stream.step(tokenizer, token) for token in ids]

    expected = tokenizer.decode(ids)
    assert "".join(delta.get("content") or "" for delta in parsed()) == expected
    assert "".join(piece or "" for piece in theirs()) == expected
    for name, call in (("push, bytes", ours), ("push, dicts", parsed)):
        mine, other = seconds_each(call, theirs)
        report(f"derender: 16,000 ids in batches of 16, {name}", mine, other, "DecodeStream")
        print(f"{len(ids) / mine / 1e6:.2f} million ids per second; peer {len(ids) / other / 1e6:.2f}")
