"""Derendering: `pytest benches/ -k derender -s`.

One-shot beside `transformers` decode and a regex parse in Python; the cost of a chunk early and late in a stream;
incremental detokenization beside the `DecodeStream` of `tokenizers`. All in one process and on one thread, with
tokenizers of the shared data beside the repository.
"""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from benches.conversations import text
from benches.peers import report, seconds_each
from benches.streams import CHUNK, PARSERS, PLACES, early_and_late
from dragoman import Derenderer

MODELS = Path(__file__).parents[2] / "shared" / "models"


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


def serve_in_python(tokenizer: Any, body: bytes) -> bytes:
    """What a server in Python does around that: the body of the request to the body of the answer."""
    [choice] = json.loads(body)["generate_response"]["choices"]
    parsed = parse_in_python(tokenizer, choice["token_ids"])
    calls = [
        {"id": f"call-{index}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for index, (name, arguments) in enumerate(parsed.pop("calls"))
    ]
    message = {"role": "assistant", **parsed, "tool_calls": calls}
    answer = {"index": choice["index"], "message": message, "finish_reason": choice["finish_reason"]}
    return json.dumps({"object": "chat.completion", "choices": [answer]}).encode()


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
    mine, theirs = seconds_each(lambda: ours.chat_bytes(body), lambda: serve_in_python(tokenizer, body))
    report("derender: the same, body to answer", mine, theirs, "transformers + regex + json")


def test_derender_chunk(tmp_path: Path) -> None:
    """The same chunk after 100 and after 4,000 tokens of the same stream, for every registered tool-call parser."""
    for name in PARSERS:
        for place in PLACES:
            chunks = early_and_late(name, place, tmp_path)
            chat, (early, late) = chunks.server.chat_bytes, chunks.bodies
            best = (float("inf"), float("inf"))
            # Noise only ever adds: a ratio that is too high is measured again.
            for _ in range(20):
                times = seconds_each(partial(chat, early), partial(chat, late), seconds=0.004)
                best = (min(best[0], times[0]), min(best[1], times[1]))
                if best[1] <= 1.2 * best[0]:
                    break
            sizes = "; ".join(
                f"{what} {len(at_100)} and {len(at_4000)} bytes"
                for what, (at_100, at_4000) in (("request", chunks.bodies), ("answer", chunks.answers))
            )
            print(
                f"\nderender: chunk of {CHUNK}, {name}, {place}: {best[0] * 1e6:.1f} µs after 100 tokens, "
                f"{best[1] * 1e6:.1f} after 4,000: ratio {best[1] / best[0]:.2f}; {sizes}",
                end="",
            )
            assert best[1] <= 1.2 * best[0]


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
