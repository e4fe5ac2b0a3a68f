"""From the keys of a ``config.json`` (or their equivalents in GGUF) to a :class:`ModelConfig`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dragoman.engine.errors import InvalidRequestError, UnsupportedModelError
from dragoman.engine.models.architecture import ModelConfig, RopeConfig
from dragoman.engine.models.family import Family


def configure(
    family: Family,
    keys: Mapping[str, Any],
    *,
    eos_token_ids: tuple[int, ...],
    max_model_len: int | None,
) -> ModelConfig:
    """Read the common keys, then let the family read its own.

    Raises :class:`InvalidRequestError` where ``max_model_len`` is longer than the model's positions.
    """
    try:
        config = _common(keys, eos_token_ids, max_model_len)
    except KeyError as error:
        raise UnsupportedModelError(f"the model's configuration lacks {error.args[0]!r}") from error
    return family.refine(config, keys)


def rope_of(keys: Mapping[str, Any], kind: str | None = None) -> RopeConfig:
    """Rotary settings, from ``rope_parameters`` (transformers 5) or ``rope_theta`` and ``rope_scaling``.

    ``kind`` picks from parameters that are given per kind of layer.
    """
    parameters = keys.get("rope_parameters") or {}
    if kind is not None and isinstance(parameters.get(kind), Mapping):
        parameters = parameters[kind]
    scaling = parameters or keys.get("rope_scaling")
    theta = parameters.get("rope_theta", keys.get("rope_theta", 10000.0))
    partial = parameters.get("partial_rotary_factor", keys.get("partial_rotary_factor", 1.0))
    if scaling is not None and "original_max_position_embeddings" in keys:
        scaling = {"original_max_position_embeddings": keys["original_max_position_embeddings"], **scaling}
    return RopeConfig(theta=float(theta), scaling=scaling, rotary_dim=int(_head_dim(keys) * partial))


def windows_of(keys: Mapping[str, Any], *, default_sliding: bool) -> tuple[int | None, ...]:
    """The attention window of every layer.

    Layers are told apart by ``layer_types`` where that is given; else all are alike, sliding where
    ``default_sliding`` and a ``sliding_window`` is set.
    """
    layers = int(keys["num_hidden_layers"])
    window = keys.get("sliding_window")
    if window is None:
        return (None,) * layers
    types = keys.get("layer_types")
    if types is None:
        return (int(window) if default_sliding else None,) * layers
    return tuple(int(window) if kind == "sliding_attention" else None for kind in types)


def _head_dim(keys: Mapping[str, Any]) -> int:
    return int(keys.get("head_dim") or keys["hidden_size"] // keys["num_attention_heads"])


def _common(
    keys: Mapping[str, Any], eos_token_ids: tuple[int, ...], max_model_len: int | None
) -> ModelConfig:
    layers = int(keys["num_hidden_layers"])
    heads = int(keys["num_attention_heads"])
    trained = int(keys["max_position_embeddings"])
    if max_model_len is not None and max_model_len > trained:
        raise InvalidRequestError(
            f"max_model_len={max_model_len} is larger than the model's max_position_embeddings={trained}",
            "max_model_len",
        )
    if keys.get("attn_logit_softcapping") is not None:
        raise UnsupportedModelError("attn_logit_softcapping is not supported")
    activation = keys.get("hidden_activation") or keys.get("hidden_act") or "silu"
    return ModelConfig(
        architecture=str(keys["model_type"]),
        vocab_size=int(keys["vocab_size"]),
        hidden_size=int(keys["hidden_size"]),
        intermediate_size=int(keys["intermediate_size"]),
        num_layers=layers,
        num_heads=heads,
        num_kv_heads=int(keys.get("num_key_value_heads") or heads),
        head_dim=_head_dim(keys),
        norm_epsilon=float(keys.get("rms_norm_eps", 1e-6)),
        max_positions=max_model_len or trained,
        trained_positions=trained,
        eos_token_ids=eos_token_ids,
        ropes=(rope_of(keys),),
        rotary=(0,) * layers,
        windows=(None,) * layers,
        tie_embeddings=bool(keys.get("tie_word_embeddings", False)),
        activation=str(activation),
        final_softcap=keys.get("final_logit_softcapping"),
    )
