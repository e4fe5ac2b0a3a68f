"""Gemma 3: norms on both sides; five sliding layers to one that sees all, each kind with its rotary base."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from dragoman.engine.models.architecture import ModelConfig
from dragoman.engine.models.blocks import BlockLayout
from dragoman.engine.models.configure import rope_of, windows_of
from dragoman.engine.models.family import Family

DEFAULT_PATTERN = 6
DEFAULT_LOCAL_THETA = 10000.0
LAYERS_OF_27B = 62


def refine(config: ModelConfig, keys: Mapping[str, Any]) -> ModelConfig:
    """``layer_types`` says which layers slide; without it every sixth does not."""
    layers = config.num_layers
    types = keys.get("layer_types")
    if types is None:
        pattern = int(keys.get("sliding_window_pattern") or DEFAULT_PATTERN)
        types = [
            "full_attention" if (layer + 1) % pattern == 0 else "sliding_attention" for layer in range(layers)
        ]
    everywhere = rope_of(keys, "full_attention")
    near = rope_of(keys, "sliding_attention")
    if not isinstance((keys.get("rope_parameters") or {}).get("sliding_attention"), Mapping):
        local_theta = float(keys.get("rope_local_base_freq") or DEFAULT_LOCAL_THETA)
        near = dataclasses.replace(near, theta=local_theta, scaling=None)
    if "query_pre_attn_scalar" in keys:
        scale = float(keys["query_pre_attn_scalar"]) ** -0.5
    elif layers == LAYERS_OF_27B:
        # A GGUF file does not say; the 27B model is the one that differs (llama.cpp, gemma3).
        scale = (config.hidden_size / config.num_heads) ** -0.5
    else:
        scale = config.head_dim**-0.5
    return dataclasses.replace(
        config,
        ropes=(everywhere, near),
        rotary=tuple(1 if kind == "sliding_attention" else 0 for kind in types),
        windows=windows_of({**keys, "layer_types": types}, default_sliding=False),
        attention_scale=scale,
        activation="gelu_pytorch_tanh",
        embedding_scale=config.hidden_size**0.5,
        tie_embeddings=bool(keys.get("tie_word_embeddings", True)),
    )


FAMILY = Family(
    layout=BlockLayout(
        attention_post_norm="post_attention_layernorm",
        mlp_norm="pre_feedforward_layernorm",
        mlp_post_norm="post_feedforward_layernorm",
        qk_norm="head",
    ),
    model_types=("gemma3_text", "gemma3"),
    gguf_names=("gemma3",),
    gguf_weights={
        "post_attention_layernorm": "post_attention_norm",
        "pre_feedforward_layernorm": "ffn_norm",
        "post_feedforward_layernorm": "post_ffw_norm",
    },
    norm_offset=1.0,
    refine=refine,
)
