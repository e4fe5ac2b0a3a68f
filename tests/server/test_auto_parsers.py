"""`auto` as the name of a parser: what the model and its template call for."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from dragoman.model import ModelOptions, load_model


@pytest.mark.parametrize(
    ("model", "tool", "reasoning"),
    [
        ("qwen3", "hermes", "qwen3"),
        ("gptoss", "openai", "openai_gptoss"),
        ("llama3", "llama3_json", None),
        ("gemma3", None, None),
    ],
)
def test_auto_fits_the_model(
    shared: Path, caplog: pytest.LogCaptureFixture, model: str, tool: str | None, reasoning: str | None
) -> None:
    options = ModelOptions(
        model=str(shared / "models" / model), tool_call_parser="auto", reasoning_parser="auto"
    )
    with caplog.at_level(logging.INFO, logger="dragoman"):
        loaded = load_model(options)
    assert (loaded.config.tool_call_parser, loaded.config.reasoning_parser) == (tool, reasoning)
    # As in vLLM, a parser's name does not switch automatic tool choice on.
    assert not loaded.config.enable_auto_tool_choice
    said = [record.getMessage() for record in caplog.records if record.getMessage().startswith("parsers:")]
    assert said == [f"parsers: tool calls {tool or 'none'}, reasoning {reasoning or 'none'}"]
    loaded.derenderer()


def test_a_template_of_the_client_counts(shared: Path) -> None:
    template = shared / "conformance/derender/templates/qwen3-coder__qwen3-coder.xinf.jinja"
    options = ModelOptions(
        model=str(shared / "models/qwen3"), chat_template=str(template), tool_call_parser="auto"
    )
    loaded = load_model(options)
    assert loaded.config.tool_call_parser == "qwen3_coder"
    assert loaded.config.reasoning_parser is None


def test_none_and_names_are_left_alone(shared: Path) -> None:
    options = ModelOptions(
        model=str(shared / "models/qwen3"), tool_call_parser="none", reasoning_parser="deepseek_r1"
    )
    loaded = load_model(options)
    assert (loaded.config.tool_call_parser, loaded.config.reasoning_parser) == ("none", "deepseek_r1")
    loaded.derenderer()
