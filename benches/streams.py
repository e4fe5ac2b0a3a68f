"""Streams of every tool-call parser: prose, and a call whose argument goes on and on.

Tokenizers are made here, of single bytes and the markers of the parser's fixtures, `tests/fixtures/tool/NAME.toml`;
the calls are those of the fixtures too, left inside their first argument that is a text.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dragoman import Derenderer

FIXTURES = Path(__file__).parents[1] / "tests" / "fixtures" / "tool"
# Every registered parser has fixtures: without them the build of the core fails.
PARSERS = sorted(path.stem for path in FIXTURES.glob("*.toml"))
PLACES = ["prose", "argument"]
# A chunk of a stream with `--stream-interval` or an engine's batch: a few ids.
CHUNK = 8
# What the prose and the arguments are made of: 25 tokens.
TURN = b"now and then people come "
# Ends the reasoning, and begins the answer. Harmony has its own form, and nothing else reads it.
REASONING = {"openai": "openai_gptoss"}
ANSWER = {"openai": "<|channel|>final<|message|>"}


@dataclasses.dataclass(frozen=True)
class Fixture:
    """What a parser's fixtures tell."""

    name: str
    markers: dict[str, bool]
    """Tokens beside the bytes, and whether they are special."""
    cases: list[dict[str, Any]]

    @classmethod
    def read(cls, name: str) -> Fixture:
        values = tomllib.loads((FIXTURES / f"{name}.toml").read_text())
        markers = dict.fromkeys(values.get("added", []), False) | dict.fromkeys(
            values.get("special", []), True
        )
        return cls(name, markers, values["case"])

    def heads(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Outputs that end inside of an argument, each with the tool that it calls."""
        for case in self.cases:
            if case.keys() & {"request", "prompt"} or not case.get("calls"):
                continue
            call = case["calls"][0]
            try:
                arguments = json.loads(call["arguments"])
            except ValueError:
                continue
            for value in arguments.values() if isinstance(arguments, dict) else ():
                at = case["output"].find(value) if isinstance(value, str) and value else -1
                if at > 0:
                    properties = {key: {"type": "string"} for key in arguments}
                    parameters = {"type": "object", "properties": properties}
                    function = {"name": call["name"], "parameters": parameters}
                    yield case["output"][:at], {"type": "function", "function": function}


def alphabet() -> list[str]:
    """The characters that stand for bytes, by GPT-2's table."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = itertools.count(0x100)
    return [chr(byte if byte in printable else next(others)) for byte in range(256)]


def write_model(directory: Path, markers: dict[str, bool]) -> None:
    """A model directory with a tokenizer of single bytes and markers."""
    added = [
        {"id": 256 + place, "content": content, "special": special}
        | dict.fromkeys(["single_word", "lstrip", "rstrip", "normalized"], False)
        for place, (content, special) in enumerate(markers.items())
    ]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    model = {
        "type": "BPE",
        "vocab": {character: byte for byte, character in enumerate(alphabet())},
        "merges": [],
    }
    tokenizer = {"version": "1.0", "added_tokens": added, "model": model, "normalizer": None}
    tokenizer |= {"pre_tokenizer": byte_level, "decoder": byte_level, "post_processor": None}
    directory.mkdir(exist_ok=True)
    (directory / "tokenizer.json").write_text(json.dumps(tokenizer))
    (directory / "config.json").write_text(json.dumps({"max_position_embeddings": 100_000}))


class Stream:
    """A client of the stream endpoint: `body` is the next request, `state` what the last answer carried."""

    def __init__(self, fixture: Fixture, server: Derenderer, head: str, tools: list[Any]) -> None:
        self.server = server
        self.request = {"messages": [{"role": "user", "content": "x"}], "tools": tools}
        self.state: Any = None
        markers = {content: 256 + place for place, content in enumerate(fixture.markers)}
        self.push(list(_ids(head, markers)))

    def body(self, ids: list[int]) -> bytes:
        choice = {"index": 0, "token_ids": ids, "finish_reason": None}
        chunk = {"request_id": "r", "choices": [choice]}
        request = {"model": "m", "stream": True, "chat_request": self.request, "generate_chunk": chunk}
        return json.dumps({**request, "stream_state": self.state}).encode()

    def push(self, ids: list[int]) -> None:
        self.state = json.loads(self.server.chat_bytes(self.body(ids)))["stream_state"]


def _ids(text: str, markers: dict[str, int]) -> Iterator[int]:
    while text:
        marker = next((marker for marker in markers if text.startswith(marker)), None)
        if marker is None:
            yield from text[0].encode()
        else:
            yield markers[marker]
        text = text[len(marker or " ") :]


@dataclasses.dataclass(frozen=True)
class Chunks:
    """The same chunk after 100 and after 4,000 tokens of prose or argument: requests and their answers."""

    server: Derenderer
    bodies: tuple[bytes, bytes]
    answers: tuple[bytes, bytes]


def early_and_late(name: str, place: str, directory: Path) -> Chunks:
    """The chunks of a parser, with a reasoning parser before it, in prose or in an argument."""
    fixture = Fixture.read(name)
    write_model(directory, fixture.markers)
    server = Derenderer.from_model(
        str(directory),
        served_model_names=("m",),
        tool_call_parser=name,
        reasoning_parser=REASONING.get(name, "qwen3"),
        enable_auto_tool_choice=True,
    )
    answer = ANSWER.get(name, "</think>\n\n")
    if place == "prose":
        [(_, tool), *_] = fixture.heads()
        found = _chunks(Stream(fixture, server, answer, [tool]), place)
        assert found is not None, f"{name}: no prose"
        return found
    prefix = "" if name in ANSWER else answer
    for head, tool in fixture.heads():
        found = _chunks(Stream(fixture, server, prefix + head, [tool]), place)
        if found is not None:
            return found
    raise AssertionError(f"{name}: no call of its fixtures has a text that can go on")


def _chunks(stream: Stream, place: str) -> Chunks | None:
    """None where the stream is not in that place: a text that has ended, or a call that is none yet."""
    # Whole turns of the text, so that both chunks come at the same place of it.
    turns, chunk = [list(TURN)] * (4000 // len(TURN)), list(TURN[:CHUNK])
    for turn in turns[: 100 // len(TURN)]:
        stream.push(turn)
    early = stream.body(chunk)
    if not _text(stream.server.chat_bytes(early), place):
        return None
    for turn in turns[100 // len(TURN) :]:
        stream.push(turn)
    late = stream.body(chunk)
    answers = (stream.server.chat_bytes(early), stream.server.chat_bytes(late))
    for answer in answers:
        assert len(_text(answer, place)) >= CHUNK - 2, answer
    return Chunks(stream.server, (early, late), answers)


def _text(answer: bytes, place: str) -> str:
    delta = json.loads(answer)["chunk"]["choices"][0]["delta"]
    if place == "prose":
        return str(delta.get("content", ""))
    return "".join(call["function"].get("arguments", "") for call in delta.get("tool_calls", []))
