"""Grammars on real tokenizers, without a model: which ids a mask lets through, id by id."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llguidance", reason="the engine extra (llguidance) is not installed")

from dragoman import _core
from dragoman.engine import TokenMask
from dragoman.model import ModelOptions, load_model
from dragoman.server.errors import ApiError
from dragoman.server.grammar.compiler import GrammarCompiler
from tests.conformance.data import SHARED

MODELS = ("smollm2", "qwen3", "llama3", "gemma3", "deepseek")
CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Zürich 日本"}}\n</tool_call>'
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "strict": True,
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}},
                "required": ["city"],
                "additionalProperties": False,
            },
        },
    }
]


@dataclass
class Model:
    """A model's tokenizer and its grammars; `padding` more ids than the tokenizer has."""

    tokenizer: _core.Tokenizer
    renderer: _core.Renderer
    compiler: GrammarCompiler
    eos: tuple[int, ...]
    vocab_size: int

    def mask(
        self, asked: dict[str, Any], *, prompt: list[int] | None = None, ended: bool | None = None
    ) -> TokenMask:
        return asyncio.run(self.compiler.mask_maker(asked, prompt or [1], ended))()

    def ids(self, text: str) -> list[int]:
        found: list[int] = self.tokenizer.encode(text).ids.tolist()
        return found

    def allowed(self, mask: TokenMask) -> set[int]:
        row = np.zeros(-(-self.vocab_size // 32), dtype=np.int32)
        mask.fill(row)
        return set(np.nonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))[0].tolist())

    def feed(self, mask: TokenMask, ids: list[int]) -> int:
        """How many ids the mask lets through."""
        for place, token in enumerate(ids):
            if token not in self.allowed(mask):
                return place
            assert mask.accept(token)
        return len(ids)

    def takes(self, asked: dict[str, Any], text: str) -> bool:
        """Whether a text is let through and may end there."""
        mask = self.mask(asked)
        ids = self.ids(text)
        if self.feed(mask, ids) < len(ids):
            return False
        return mask.is_terminated or bool(self.allowed(mask) & set(self.eos))


Load = Callable[..., Model]


@pytest.fixture(scope="module")
def load(shared: Path) -> Load:
    known: dict[tuple[str, str | None], Model] = {}

    def load(name: str, reasoning: str | None = None, padding: int = 128) -> Model:
        if (name, reasoning) not in known:
            options = ModelOptions(
                model=str(SHARED / "models" / name),
                reasoning_parser=reasoning,
                tool_call_parser="hermes",
                enable_auto_tool_choice=True,
            )
            model = load_model(options)
            size = model.config.vocab_size + padding
            derenderer = model.derenderer()
            compiler = GrammarCompiler(
                model.files.tokenizer_json,
                vocab_size=size,
                eos_token_ids=model.config.eos_token_ids,
                derenderer=derenderer,
            )
            known[name, reasoning] = Model(
                model.tokenizer, model.renderer(derenderer), compiler, model.config.eos_token_ids, size
            )
        return known[name, reasoning]

    return load


@pytest.mark.parametrize("name", MODELS)
def test_each_kind_on_each_tokenizer(name: str, load: Load) -> None:
    model = load(name)
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    cases: list[tuple[dict[str, Any], str, str]] = [
        ({"json": schema}, '{"a": "é 日本 🙂"}', '{"b": 1}'),
        ({"json_object": True}, '{"x": [1, null]}', "[1]"),
        ({"regex": "[a-z]+ [0-9]{2}"}, "hello 42", "hello 4x"),
        ({"choice": ["a b", "日本"]}, "日本", "日"),
        ({"grammar": 'root ::= "é" root | "b"'}, "ééb", "éé"),
        ({"grammar": 'start: "é"* "b"'}, "ééb", "éé"),
    ]
    for asked, good, bad in cases:
        assert model.takes(asked, good), (asked, good)
        assert not model.takes(asked, bad), (asked, bad)
    mask = model.mask({"regex": "ab?"})
    assert not model.allowed(mask) & set(model.eos)
    assert max(model.allowed(mask)) < model.vocab_size - 128
    assert model.feed(mask, model.ids("a")) == 1
    assert set(model.eos) <= model.allowed(mask)


def test_what_the_renderer_asks_for_lets_calls_through(load: Load) -> None:
    """Hermes' structural tags of a demanded, a named and a strict tool."""
    model = load("qwen3")
    content = '{"x": 1}'

    def asked(**fields: Any) -> dict[str, Any]:
        body = {"messages": [{"role": "user", "content": "?"}], "tools": TOOLS, **fields}
        rendered = json.loads(model.renderer.chat(json.dumps(body).encode()))
        found: dict[str, Any] = rendered["sampling_params"]["structured_outputs"]
        return found

    marker = model.tokenizer.encode("<tool_call>").ids.tolist()
    assert len(marker) == 1
    wrong = CALL.replace("city", "town")
    named = {"type": "function", "function": {"name": "get_weather"}}
    for choice in ("required", named):
        demanded = asked(tool_choice=choice)
        assert model.takes(demanded, CALL)
        assert not model.takes(demanded, wrong)
        assert not model.takes(demanded, content)
        # The marker is its own token, which parsers look for; its letters would be text.
        assert model.allowed(model.mask(demanded)) == set(marker)
    assert model.takes(asked(tool_choice="required"), CALL + CALL)
    assert not model.takes(asked(tool_choice=named), CALL + CALL)
    auto = asked(tool_choice="auto")
    for text in ("No call.", CALL, f"Let me see. {CALL} And {CALL}", content):
        assert model.takes(auto, text), text
    assert not model.takes(auto, f"Let me see. {wrong}")


def tag(**fields: Any) -> dict[str, Any]:
    return {"structural_tag": json.dumps({"type": "structural_tag", "format": fields})}


PART = {"type": "tag", "begin": "<fn>", "content": {"type": "regex", "pattern": "[0-9]+"}, "end": "</fn>"}


@pytest.mark.parametrize(
    ("asked", "good", "bad"),
    [
        (tag(type="const_string", value='a"b'), ['a"b'], ["a", 'a"bc']),
        (tag(type="regex", pattern="[a/]{2}"), ["a/"], ["a", "aaa"]),
        (tag(type="json_schema", json_schema={"type": "integer"}), ["17"], ['"a"']),
        (tag(type="grammar", grammar='root ::= "x" root | "y"'), ["xxy"], ["xx"]),
        (tag(type="any_text"), ["anything <b> at all", ""], []),
        (tag(type="any_text", excludes=["bad", "/"]), ["good ba d"], ["so bad.", "a/b"]),
        (
            tag(type="sequence", elements=[{"type": "const_string", "value": "a"}, PART]),
            ["a<fn>12</fn>"],
            ["a", "<fn>1</fn>"],
        ),
        (
            tag(type="or", elements=[{"type": "const_string", "value": "a"}, PART]),
            ["a", "<fn>12</fn>"],
            ["a<fn>12</fn>"],
        ),
        (
            tag(type="tag", begin="[", content={"type": "any_text"}, end=["]", "!"]),
            ["[free text]", "[x!"],
            ["[free text", "free]"],
        ),
        (
            tag(type="triggered_tags", triggers=["<f"], tags=[PART]),
            ["free", "free <fn>1</fn> more <fn>2</fn>", "a < b"],
            ["free <fn>x</fn>", "free <f href>"],
        ),
        (
            tag(type="triggered_tags", triggers=["<f"], tags=[PART], at_least_one=True),
            ["free <fn>1</fn>", "<fn>1</fn><fn>2</fn> end"],
            ["free"],
        ),
        (
            tag(type="triggered_tags", triggers=["<f"], tags=[PART], stop_after_first=True),
            ["free", "free <fn>1</fn>"],
            ["free <fn>1</fn> more"],
        ),
        (
            tag(type="tags_with_separator", tags=[PART], separator=", "),
            ["", "<fn>1</fn>", "<fn>1</fn>, <fn>2</fn>"],
            ["<fn>1</fn><fn>2</fn>"],
        ),
        (
            tag(type="tags_with_separator", tags=[PART], separator="", at_least_one=True),
            ["<fn>1</fn>", "<fn>1</fn><fn>2</fn>"],
            ["", "free"],
        ),
        (
            {
                "structural_tag": json.dumps(
                    {
                        "type": "structural_tag",
                        "structures": [{"begin": "<f=x>", "schema": {"type": "integer"}, "end": "</f>"}],
                        "triggers": ["<f="],
                    }
                )
            },
            ["free", "free <f=x>12</f> more"],
            ["<f=y>12</f>", "<f=x>true</f>"],
        ),
    ],
    ids=lambda value: str(value)[:60],
)
@pytest.mark.parametrize("name", ["smollm2", "gemma3"])
def test_structural_tags(
    name: str, asked: dict[str, Any], good: list[str], bad: list[str], load: Load
) -> None:
    """The meanings are those of xgrammar's documentation of structural tags."""
    model = load(name)
    for text in good:
        assert model.takes(asked, text), text
    for text in bad:
        assert not model.takes(asked, text), text


@pytest.mark.parametrize(
    ("name", "parser", "thought"),
    [
        ("qwen3", "qwen3", "<think>\nHm, {or} not.\n</think>"),
        ("deepseek", "deepseek_r1", "Hm, {or} not.</think>"),
        ("qwen3", "minimax_m2_append_think", "Hm.</think>"),
        (
            "gptoss",
            "openai_gptoss",
            "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>",
        ),
    ],
)
def test_the_grammar_begins_behind_the_reasoning(name: str, parser: str, thought: str, load: Load) -> None:
    model = load(name, parser)
    asked = {"regex": "[0-9]{2}"}
    mask = model.mask(asked, ended=False)
    thinking = model.ids(thought)
    assert model.feed(mask, thinking) == len(thinking)
    assert model.feed(mask, model.ids("no")) == 0
    assert model.feed(mask, model.ids("42")) == len(model.ids("42"))
    assert mask.is_terminated
    # Where it has ended before, or the prompt says so, the grammar begins at once.
    assert model.feed(model.mask(asked, ended=True), thinking) == 0
    closed = model.ids("<|im_start|>assistant\n<think>\n\n</think>\n\n")
    if name == "qwen3":
        assert model.feed(model.mask(asked, prompt=closed), model.ids("no")) == 0
        opened = model.ids("<|im_start|>assistant\n<think>\n")
        assert model.feed(model.mask(asked, prompt=opened), model.ids("no")) == 1


def test_a_grammar_is_compiled_once(load: Load) -> None:
    model = load("smollm2")
    asked = {"regex": "only this once"}
    before = model.compiler._compiled.cache_info()
    masks = [model.mask(asked) for _ in range(3)]
    after = model.compiler._compiled.cache_info()
    assert (after.misses - before.misses, after.hits - before.hits) == (1, 2)
    # And each mask goes its own way.
    assert model.feed(masks[0], model.ids("only this")) > 0
    assert model.allowed(masks[1]) == model.allowed(masks[2]) != model.allowed(masks[0])


@pytest.mark.parametrize(
    "asked",
    [
        {"structural_tag": "{" * 5000},
        {"structural_tag": '{"format": ' * 3000 + "1" + "}" * 3000},
        tag(type="json_schema", json_schema={}, style="qwen_xml"),
        tag(type="triggered_tags", triggers=["<b"], tags=[PART]),
        tag(type="triggered_tags", triggers="<f", tags=[PART]),
        tag(type="sequence", elements=[]),
        tag(type="or", elements=[{"type": "const_string", "value": "a"}] * 5000),
        tag(type="grammar", grammar="root ::= ("),
        tag(type="regex", pattern="("),
        {"regex": "a", "whitespace_pattern": "("} | {"json": {"type": "object"}, "regex": None},
    ],
    ids=lambda value: str(value)[:60],
)
def test_refusals_name_the_parameter(asked: dict[str, Any], load: Load) -> None:
    with pytest.raises(ApiError) as refusal:
        load("smollm2").mask(asked)
    assert refusal.value.kind == "bad_request"
    assert refusal.value.param in asked
    assert len(refusal.value.message) < 1000
