"""A directory in the layout of the hub: tokenizer.json, config.json and their companions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dragoman.hub.files import ModelFiles, ModelNotFoundError

# The order that transformers gives them in `special_tokens_map`.
NAMED_SPECIAL_TOKENS = tuple(f"{name}_token" for name in ("bos", "eos", "unk", "sep", "pad", "cls", "mask"))


def read_directory(directory: Path, *, name: str, weights: Path | None) -> ModelFiles:
    """Reads the settings of a model directory. Raises ModelNotFoundError naming the file that is missing."""
    tokenizer_json = directory / "tokenizer.json"
    if not tokenizer_json.is_file():
        raise ModelNotFoundError(
            f"{directory} holds no tokenizer.json; convert the tokenizer to that form, "
            "or name a directory that has one with --tokenizer"
        )
    tokenizer_config = _read_json(directory / "tokenizer_config.json")
    return ModelFiles(
        name=name,
        tokenizer_json=tokenizer_json,
        config=_read_json(directory / "config.json"),
        tokenizer_config=tokenizer_config,
        generation_config=_read_json(directory / "generation_config.json"),
        chat_template=_chat_template(directory, tokenizer_config),
        special_tokens=_special_tokens(directory, tokenizer_config),
        weights=weights,
    )


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise ModelNotFoundError(f"{path} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ModelNotFoundError(f"{path} should hold a JSON object, not {type(value).__name__}")
    return value


def _chat_template(directory: Path, tokenizer_config: dict[str, Any]) -> str | None:
    """A file of its own wins over tokenizer_config.json, and that over a processor's chat_template.json."""
    alone = directory / "chat_template.jinja"
    if alone.is_file():
        return alone.read_text(encoding="utf-8")
    processor = _read_json(directory / "chat_template.json")
    for source in (tokenizer_config.get("chat_template"), processor.get("chat_template")):
        template = default_template(source)
        if template is not None:
            return template
    return None


def default_template(source: Any) -> str | None:
    """`source` is a template, or a list of `{"name", "template"}`, or an object of names; `default` wins."""
    if isinstance(source, str):
        return source
    if isinstance(source, list):
        source = {
            entry["name"]: entry["template"]
            for entry in source
            if isinstance(entry, dict) and "name" in entry and "template" in entry
        }
    if isinstance(source, dict) and source:
        chosen = source.get("default", next(iter(source.values())))
        return chosen if isinstance(chosen, str) else None
    return None


def _special_tokens(directory: Path, tokenizer_config: dict[str, Any]) -> dict[str, str]:
    fallback = _read_json(directory / "special_tokens_map.json")
    extra = tokenizer_config.get("extra_special_tokens")
    # Models add tokens of their own, `image_token` for one; their templates may use them by that name.
    named = {**extra, **tokenizer_config} if isinstance(extra, dict) else tokenizer_config
    others = (key for key in named if key.endswith("_token") and key not in NAMED_SPECIAL_TOKENS)
    tokens: dict[str, str] = {}
    for key in (*NAMED_SPECIAL_TOKENS, *others):
        text = _token_text(named[key] if key in named else fallback.get(key))
        if text is not None:
            tokens[key] = text
    return tokens


def _token_text(value: Any) -> str | None:
    if isinstance(value, dict):
        value = value.get("content")
    return value if isinstance(value, str) else None
