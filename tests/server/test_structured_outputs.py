"""Structured outputs over HTTP: what a request asks for is what comes, and nothing else can."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import httpx
import pytest

from dragoman import _core
from dragoman.cli.server_process import ServerProcess

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "maxLength": 12},
        "people": {"type": "integer", "minimum": 0, "maximum": 9999},
    },
    "required": ["city", "people"],
    "additionalProperties": False,
}
MESSAGES = [{"role": "user", "content": "Tell me about Paris."}]
GBNF = 'root ::= word ("-" word)*\nword ::= "ab" | "cd"'
LARK = 'start: WORD ("-" WORD)*\nWORD: "ab" | "cd"'
TAG = {
    "type": "structural_tag",
    "format": {
        "type": "tags_with_separator",
        "tags": [
            {
                "type": "tag",
                "begin": "<call>",
                "content": {"type": "json_schema", "json_schema": SCHEMA},
                "end": "</call>",
            }
        ],
        "separator": "",
        "at_least_one": True,
        "stop_after_first": True,
    },
}


@pytest.fixture(scope="module")
def tokenizer(smollm2: Any) -> _core.Tokenizer:
    from dragoman.model import ModelOptions, load_model

    return load_model(ModelOptions(model="smollm2")).tokenizer


def generate(client: httpx.Client, structured: dict[str, Any], **sampling: Any) -> dict[str, Any]:
    params = {"temperature": 0, "max_tokens": 80, "structured_outputs": structured, **sampling}
    body = {"token_ids": [504, 3575, 282], "sampling_params": params}
    reply = client.post("/inference/v1/generate", json=body)
    assert reply.status_code == 200, reply.text
    answer: dict[str, Any] = reply.json()
    return answer


def check_object(text: str) -> None:
    value = json.loads(text)
    assert set(value) == {"city", "people"}
    assert isinstance(value["people"], int)
    assert len(value["city"]) <= 12


def check_tag(text: str) -> None:
    match = re.fullmatch(r"<call>(.*)</call>", text, re.DOTALL)
    assert match is not None
    check_object(match.group(1))


# A small model that may write white space sometimes writes nothing else.
DENSE = {"disable_any_whitespace": True}
ASKED = [
    ({"json": SCHEMA, **DENSE}, check_object),
    ({"json": json.dumps(SCHEMA), **DENSE}, check_object),
    (
        {"regex": r"\d{3}-[a-c]{1,4}x"},
        lambda text: re.fullmatch(r"\d{3}-[a-c]{1,4}x", text) or pytest.fail(text),
    ),
    ({"choice": ["Rome", "Lyon"]}, lambda text: text in ("Rome", "Lyon") or pytest.fail(text)),
    ({"grammar": GBNF}, lambda text: re.fullmatch(r"(ab|cd)(-(ab|cd))*", text) or pytest.fail(text)),
    ({"grammar": LARK}, lambda text: re.fullmatch(r"(ab|cd)(-(ab|cd))*", text) or pytest.fail(text)),
    ({"structural_tag": json.dumps(TAG), **DENSE}, check_tag),
]


@pytest.mark.parametrize(("structured", "check"), ASKED, ids=lambda value: str(value)[:30])
@pytest.mark.parametrize("sampling", [{}, {"temperature": 1.5, "seed": 3}], ids=["greedy", "drawn"])
def test_the_output_follows_the_grammar(
    structured: dict[str, Any],
    check: Any,
    sampling: dict[str, Any],
    engine_client: httpx.Client,
    tokenizer: _core.Tokenizer,
) -> None:
    # A string of "ab" may go on for as long as the model likes; the end is only then the grammar's.
    (choice,) = generate(engine_client, structured, **sampling)["choices"]
    text = tokenizer.decode(choice["token_ids"])
    if choice["finish_reason"] == "length" and "grammar" in structured:
        text = re.sub(r"-?(a|c)?$", "", text)
    else:
        assert choice["finish_reason"] == "stop"
    check(text)


def test_a_grammar_that_can_only_end_ends(engine_client: httpx.Client, tokenizer: _core.Tokenizer) -> None:
    answer = generate(engine_client, {"choice": ["Rome"]}, ignore_eos=True)
    (choice,) = answer["choices"]
    assert tokenizer.decode(choice["token_ids"]) == "Rome"
    assert (choice["finish_reason"], choice["stop_reason"]) == ("stop", None)
    assert answer["usage"]["completion_tokens"] == len(choice["token_ids"])


def test_choices_are_constrained_each_for_itself(
    engine_client: httpx.Client, tokenizer: _core.Tokenizer
) -> None:
    sampling = {"n": 6, "temperature": 1.5, "seed": 5}
    choices = generate(engine_client, {"json": SCHEMA, **DENSE}, **sampling)["choices"]
    texts = [tokenizer.decode(choice["token_ids"]) for choice in choices]
    for text in texts:
        check_object(text)
    assert len(set(texts)) > 1
    again = generate(engine_client, {"json": SCHEMA, **DENSE}, **sampling)["choices"]
    assert [choice["token_ids"] for choice in again] == [choice["token_ids"] for choice in choices]


def test_whitespace_and_further_properties_can_be_switched_off(
    engine_client: httpx.Client, tokenizer: _core.Tokenizer
) -> None:
    schema = {**SCHEMA, "properties": {**SCHEMA["properties"]}}  # type: ignore[dict-item]
    del schema["additionalProperties"]
    structured = {"json": schema, "disable_any_whitespace": True, "disable_additional_properties": True}
    for seed in range(4):
        (choice,) = generate(engine_client, structured, temperature=1.5, seed=seed)["choices"]
        text = tokenizer.decode(choice["token_ids"])
        check_object(text)
        assert text == json.dumps(json.loads(text), separators=(",", ":"), ensure_ascii=False)


@pytest.mark.parametrize(
    ("structured", "param"),
    [
        ({"regex": "a("}, "regex"),
        ({"regex": "a(?=b)"}, "regex"),
        ({"regex": "a?" * 5000}, "regex"),
        ({"json": {"type": "frob"}}, "json"),
        ({"json": "{"}, "json"),
        ({"json": "3"}, "json"),
        ({"json": {"enum": ["v" * 100] * 6000}}, "json"),
        ({"json": {"$ref": "http://example.com/schema.json"}}, "json"),
        ({"grammar": "root ::= missing"}, "grammar"),
        ({"grammar": "start: missing"}, "grammar"),
        ({"grammar": "start: " + "(" * 15000 + '"a"' + ")" * 15000}, "grammar"),
        ({"grammar": "root ::= " + "(" * 15000 + '"a"' + ")" * 15000}, "grammar"),
        ({"grammar": "start: a\n" * 20000}, "grammar"),
        ({"structural_tag": "{"}, "structural_tag"),
        ({"structural_tag": '{"format": {"type": "frob"}}'}, "structural_tag"),
        ({"structural_tag": '{"structures": [], "triggers": []}'}, "structural_tag"),
        ({"json_object": False}, "structured_outputs"),
        ({"choice": []}, "structured_outputs"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_no_grammar_is_refused(
    structured: dict[str, Any], param: str, engine_client: httpx.Client
) -> None:
    for stream in (False, True):
        body = {
            "token_ids": [504],
            "sampling_params": {"max_tokens": 4, "structured_outputs": structured},
            "stream": stream,
        }
        reply = engine_client.post("/inference/v1/generate", json=body)
        assert reply.status_code == 400, reply.text
        assert reply.json()["error"]["param"] == param


HOSTILE = [
    {"regex": "a{1,100000}"},
    {"regex": "((a{1,1000}){1,1000}){1,1000}"},
    {"regex": "(a|aa|aaa)*" * 300},
    {"regex": "(" * 200 + "a" + ")*" * 200},
    {"json": {"type": "string", "maxLength": 10**9}},
    {"json": {"type": "string", "pattern": "a?" * 50000}},
    {"json": {"type": "array", "items": {"type": "integer"}, "minItems": 10**5, "maxItems": 10**6}},
    {"grammar": "start: r0\n" + "".join(f"r{i}: r{i + 1}\n" for i in range(2300)) + 'r2300: "a"'},
    {"grammar": "start: T0\n" + "".join(f"T{i}: T{i + 1}\n" for i in range(2300)) + 'T2300: "a"'},
    {"grammar": "start: " + '"a"? ' * 6000},
    {"grammar": "start: a\na: a a | a a a | " + '"x"? ' * 1000},
    {
        "json": {
            "$ref": "#/$defs/a0",
            "$defs": {
                **{f"a{i}": {"items": {"$ref": f"#/$defs/a{i + 1}"}} for i in range(9000)},
                "a9000": {"type": "string"},
            },
        }
    },
]


@pytest.mark.parametrize("structured", HOSTILE, ids=lambda value: str(value)[:40])
def test_a_hostile_grammar_holds_nobody_up(
    structured: dict[str, Any], engine_client: httpx.Client, engine_server: ServerProcess
) -> None:
    """Answered or refused, soon; the event loop and the engine serve others meanwhile."""
    body = {"token_ids": [504], "sampling_params": {"max_tokens": 6, "structured_outputs": structured}}
    begin = time.monotonic()
    reply = engine_client.post("/inference/v1/generate", json=body)
    assert reply.status_code in (200, 400), reply.text
    assert time.monotonic() - begin < 20
    plain = {"token_ids": [504], "sampling_params": {"max_tokens": 2, "ignore_eos": True}}
    assert engine_client.post("/inference/v1/generate", json=plain).status_code == 200
    assert engine_client.get("/health").status_code == 200


def test_other_sampling_parameters_hold_as_well(
    engine_client: httpx.Client, tokenizer: _core.Tokenizer
) -> None:
    digits = [int(tokenizer.encode(digit).ids[0]) for digit in "0123456789"]
    seven = digits[7]
    regex = {"regex": "[0-9]{5}"}
    (choice,) = generate(engine_client, regex, logit_bias={str(seven): 100})["choices"]
    assert tokenizer.decode(choice["token_ids"]) == "77777"
    (choice,) = generate(engine_client, regex, allowed_token_ids=digits[3:5])["choices"]
    assert set(tokenizer.decode(choice["token_ids"])) <= set("34")
    (choice,) = generate(engine_client, {"regex": "[0-9]+"}, min_tokens=12, max_tokens=20)["choices"]
    assert len(choice["token_ids"]) >= 12
    (choice,) = generate(engine_client, {"regex": "[0-9]{30}"}, stop=["77"], logit_bias={str(seven): 100})[
        "choices"
    ]
    assert (choice["token_ids"], choice["stop_reason"]) == ([seven, seven], "77")
    # Nothing is left: the request fails, and only it.
    body = {
        "token_ids": [504],
        "sampling_params": {"structured_outputs": regex, "allowed_token_ids": [504]},
    }
    reply = engine_client.post("/inference/v1/generate", json=body)
    assert reply.status_code == 500
    assert "no token is left" in reply.json()["error"]["message"]


def test_on_the_coupled_endpoint(coupled_client: httpx.Client) -> None:
    body = {
        "messages": MESSAGES,
        "temperature": 0,
        "max_tokens": 80,
        "response_format": {"type": "json_schema", "json_schema": {"name": "city", "schema": SCHEMA}},
        "seed": 1,
    }
    reply = coupled_client.post("/v1/chat/completions", json=body)
    assert reply.status_code == 200, reply.text
    check_object(reply.json()["choices"][0]["message"]["content"])
    bad = {
        **body,
        "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "frob"}}},
    }
    for stream in (False, True):
        refused = coupled_client.post("/v1/chat/completions", json={**bad, "stream": stream})
        assert refused.status_code == 400
        assert refused.json()["error"]["param"] == "json"
