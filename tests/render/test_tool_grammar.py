"""What the grammar of a demanded tool lets the model write is a call to the derenderer, with every parser."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from dragoman import Derenderer, Renderer
from dragoman.model import LoadedModel, ModelOptions, load_model

FIXTURES = Path(__file__).parents[1] / "fixtures" / "tool"
PARSERS = sorted(path.stem for path in FIXTURES.glob("*.toml"))
NAMED = {"type": "function", "function": {"name": "get_weather"}}
TOOLS = [{"type": "function", "function": {"name": name}} for name in ("led_on", "get_weather")]


@pytest.fixture(scope="module")
def model() -> LoadedModel:
    return load_model(ModelOptions(model="smollm2", enable_auto_tool_choice=True))


def outputs(grammar: dict[str, Any], choice: str) -> list[tuple[str, list[str]]]:
    """Some texts that a grammar accepts, each with the names of the functions that it calls."""
    if grammar.get("structural_tag"):
        tags = json.loads(grammar["structural_tag"])["format"]["tags"]
        fill = {"json_schema": "{}", "any_text": ""}
        texts = [tag["begin"] + fill[tag["content"]["type"]] + tag["end"] for tag in tags]
        return [(text, ["led_on" if "led_on" in text else "get_weather"]) for text in texts]
    if choice == "required":
        return [('[{"name": "led_on", "parameters": {}}]', ["led_on"])]
    return [("{}", ["get_weather"])]


@pytest.mark.parametrize("choice", ["required", "named"])
@pytest.mark.parametrize("parser", PARSERS)
def test_what_the_grammar_lets_through_is_a_call(model: LoadedModel, parser: str, choice: str) -> None:
    config = dataclasses.replace(model.config, tool_call_parser=parser)
    model = dataclasses.replace(model, config=config)
    request = {
        "messages": [{"role": "user", "content": "x"}],
        "tools": TOOLS,
        "tool_choice": NAMED if choice == "named" else "required",
    }
    sampling = Renderer(model).chat(request)["sampling_params"]
    grammar = sampling.get("structured_outputs")
    if grammar is None:
        assert parser in {"cohere_command3", "cohere_command4", "kimi_k2", "openai"}
        return
    for text, names in outputs(grammar, choice):
        ids = model.tokenizer.encode(text).ids.tolist()
        generated = {"request_id": "r", "choices": [{"index": 0, "token_ids": ids, "finish_reason": "stop"}]}
        answer = Derenderer(model).chat({"chat_request": request, "generate_response": generated})
        message = answer["choices"][0]["message"]
        calls = [call["function"] for call in message.get("tool_calls") or []]
        assert [call["name"] for call in calls] == names, text
        assert all(json.loads(call["arguments"]) == {} for call in calls), text
        assert not message["content"], text
