"""A tiny model in two files with an index, and the ways in which such a directory is damaged."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from .conftest import TINY_LLAMA

SHARDS = ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors")
INDEX = "model.safetensors.index.json"
BIAS = "model.layers.1.self_attn.k_proj.bias"


def save(directory: Path, dtype: torch.dtype = torch.float32, *, files: int = 2) -> Path:
    """A Qwen 2 of 95,000 weights, saved by transformers; its biases are weights that a model may also be without."""
    import transformers

    torch.manual_seed(37)
    model = transformers.Qwen2ForCausalLM(transformers.Qwen2Config(**TINY_LLAMA, initializer_range=0.2))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias"):
                parameter.normal_()
    model.to(dtype).save_pretrained(directory, max_shard_size=100_000 * dtype.itemsize // files)
    return directory


def _change_index(directory: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    path = directory / INDEX
    index = json.loads(path.read_text(encoding="utf-8"))
    change(index)
    path.write_text(json.dumps(index), encoding="utf-8")
    return path


def _lose_a_shard(directory: Path) -> Path:
    (directory / SHARDS[1]).unlink()
    return directory / SHARDS[1]


def _cut_a_shard(directory: Path) -> Path:
    path = directory / SHARDS[0]
    path.write_bytes(path.read_bytes()[:-100])
    return path


def _cut_a_header(directory: Path) -> Path:
    path = directory / SHARDS[0]
    path.write_bytes(path.read_bytes()[:50])
    return path


def _drop_from_index(name: str) -> Callable[[Path], Path]:
    return lambda directory: _change_index(directory, lambda index: index["weight_map"].pop(name))


def _list_what_is_not_there(directory: Path) -> Path:
    _change_index(directory, lambda index: index["weight_map"].update({"model.extra": SHARDS[0]}))
    return directory / SHARDS[0]


def _list_elsewhere(directory: Path) -> Path:
    _change_index(directory, lambda index: index["weight_map"].update({BIAS: SHARDS[0]}))
    return directory / SHARDS[0]


def _break_index(directory: Path) -> Path:
    (directory / INDEX).write_text("{", encoding="utf-8")
    return directory / INDEX


def _empty_index(directory: Path) -> Path:
    return _change_index(directory, lambda index: index.pop("weight_map"))


DAMAGES: dict[str, Callable[[Path], Path]] = {
    "a shard is missing": _lose_a_shard,
    "a shard is cut": _cut_a_shard,
    "a shard's header is cut": _cut_a_header,
    "the index lacks a weight": _drop_from_index("model.norm.weight"),
    "the index lacks a bias": _drop_from_index(BIAS),
    "the index lacks the output projection": _drop_from_index("lm_head.weight"),
    "the index lists too much": _list_what_is_not_there,
    "the index names the wrong shard": _list_elsewhere,
    "the index is no JSON": _break_index,
    "the index lists nothing": _empty_index,
}
"""Each damages a directory and gives the file that the error must name."""
