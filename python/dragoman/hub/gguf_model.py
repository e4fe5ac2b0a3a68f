"""A GGUF file as a model directory: its tokenizer, template and configuration, converted once and cached."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from dragoman.hub.cache import build_once, cache_directory
from dragoman.hub.gguf_header import read_metadata
from dragoman.hub.gguf_vocabulary import convert

# Part of the cache key: raise it when the conversion changes.
CONVERSION = 1
# The bytes of the file that go into the key; they hold the metadata that differs between models of one size.
KEY_BYTES = 64 * 1024
SPECIAL_TOKENS = {
    "bos_token": "bos",
    "eos_token": "eos",
    "unk_token": "unknown",
    "sep_token": "seperator",
    "pad_token": "padding",
    "cls_token": "cls",
    "mask_token": "mask",
}
# Each of these ends a generation: the end of the text, of a turn, of a message.
END_TOKENS = ("eos", "eot", "eom")


def converted_directory(path: Path) -> Path:
    """The directory with the tokenizer.json, config.json, ... of a GGUF file. Raises ModelNotFoundError."""
    status = path.stat()
    with path.open("rb") as file:
        head = file.read(KEY_BYTES)
    identity = f"{CONVERSION} {status.st_size} {status.st_mtime_ns} ".encode() + head
    key = hashlib.sha256(identity).hexdigest()[:32]
    return build_once(cache_directory() / "converted" / key, lambda work: _write(read_metadata(path), work))


def _write(metadata: dict[str, Any], directory: Path) -> None:
    def write(name: str, value: dict[str, Any]) -> None:
        (directory / name).write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")

    write("tokenizer.json", convert(metadata))
    write("config.json", model_config(metadata))
    write("tokenizer_config.json", tokenizer_config(metadata))
    ends = end_token_ids(metadata)
    write("generation_config.json", {"eos_token_id": ends} if ends else {})


def model_config(metadata: dict[str, Any]) -> dict[str, Any]:
    """The part of a config.json that serving needs; the engine reads the file itself."""
    architecture = metadata.get("general.architecture")
    config: dict[str, Any] = {
        "model_type": architecture,
        "vocab_size": len(metadata["tokenizer.ggml.tokens"]),
        "max_position_embeddings": metadata.get(f"{architecture}.context_length"),
    }
    for key in ("bos", "eos"):
        config[f"{key}_token_id"] = metadata.get(f"tokenizer.ggml.{key}_token_id")
    return {key: value for key, value in config.items() if value is not None}


def tokenizer_config(metadata: dict[str, Any]) -> dict[str, Any]:
    """Special tokens as text, and the chat template or templates."""
    tokens = metadata["tokenizer.ggml.tokens"]
    config: dict[str, Any] = {}
    for name, key in SPECIAL_TOKENS.items():
        index = metadata.get(f"tokenizer.ggml.{key}_token_id")
        if isinstance(index, int) and 0 <= index < len(tokens):
            config[name] = tokens[index]
    template = metadata.get("tokenizer.chat_template")
    names = metadata.get("tokenizer.chat_templates") or []
    named = [{"name": name, "template": metadata.get(f"tokenizer.chat_template.{name}")} for name in names]
    if named and template is not None:
        config["chat_template"] = [{"name": "default", "template": template}, *named]
    elif named or template is not None:
        config["chat_template"] = named or template
    return config


def end_token_ids(metadata: dict[str, Any]) -> list[int]:
    """The ids that end a generation, without repeats."""
    found = (metadata.get(f"tokenizer.ggml.{key}_token_id") for key in END_TOKENS)
    return list(dict.fromkeys(index for index in found if isinstance(index, int)))
