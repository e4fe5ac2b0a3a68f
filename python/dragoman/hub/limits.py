"""What a model's configuration files say about its context, its end tokens and its default sampling.

The rules are vLLM's, so that a request without `max_tokens` gets the same default from both.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dragoman.hub.files import ModelFiles, ModelNotFoundError

CONTEXT_KEYS = (
    "max_position_embeddings",
    "n_positions",
    "max_seq_len",
    "model_max_length",
    "max_sequence_length",
    "max_seq_length",
    "seq_len",
)
# Where a configuration says nothing.
DEFAULT_CONTEXT = 2048
# Kinds of rope scaling that are counted in max_position_embeddings already.
SCALED_ALREADY = ("default", "su", "longrope", "llama3")
SAMPLING_KEYS = ("repetition_penalty", "temperature", "top_k", "top_p", "min_p")


def text_config(config: dict[str, Any]) -> dict[str, Any]:
    """The part about the language model: multimodal configurations nest it."""
    nested = config.get("text_config")
    return {**config, **nested} if isinstance(nested, dict) else config


def context_length(files: ModelFiles) -> int:
    """The longest sequence, prompt and output together, in tokens."""
    config = text_config(files.config)
    lengths = [config[key] for key in CONTEXT_KEYS if isinstance(config.get(key), int)]
    limit = files.tokenizer_config.get("model_max_length")
    if lengths and isinstance(limit, (int, float)):
        lengths.append(int(limit))
    if not lengths:
        return DEFAULT_CONTEXT
    scaling = config.get("rope_parameters") or config.get("rope_scaling") or {}
    return int(min(lengths) if not isinstance(scaling, dict) else _scaled(min(lengths), scaling))


def _scaled(length: float, scaling: dict[str, Any]) -> float:
    kind = scaling.get("rope_type", scaling.get("type", "default"))
    factor = scaling.get("factor", 1.0)
    if kind in SCALED_ALREADY or not isinstance(factor, (int, float)):
        return length
    original = scaling.get("original_max_position_embeddings")
    if kind == "yarn" and isinstance(original, int):
        length = original
    return length * factor


def generation_config(files: ModelFiles, source: str) -> dict[str, Any]:
    """`auto`: the model's own; `vllm`: none; else that of a directory. Raises ModelNotFoundError."""
    if source == "auto":
        return files.generation_config
    if source == "vllm":
        return {}
    path = Path(source) / "generation_config.json"
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise ModelNotFoundError(f"--generation-config: {path} cannot be read: {error}") from error
    if not isinstance(value, dict):
        raise ModelNotFoundError(f"--generation-config: {path} should hold a JSON object")
    return value


def default_sampling(generation: dict[str, Any]) -> dict[str, Any]:
    """The sampling fields of a generation configuration, under the names of `sampling_params`."""
    found = {key: generation[key] for key in SAMPLING_KEYS if generation.get(key) is not None}
    if generation.get("max_new_tokens") is not None:
        found["max_tokens"] = generation["max_new_tokens"]
    return found


def eos_token_ids(files: ModelFiles, generation: dict[str, Any]) -> tuple[int, ...]:
    """Every id that ends a generation, in the order config.json, generation_config.json."""
    ids: list[int] = []
    for source in (text_config(files.config), generation):
        value = source.get("eos_token_id")
        ids.extend(item for item in (value if isinstance(value, list) else [value]) if isinstance(item, int))
    return tuple(dict.fromkeys(ids))
