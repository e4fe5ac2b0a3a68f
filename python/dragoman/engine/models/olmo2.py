"""OLMo 2: no norm before attention and MLP but one after each, and one over all queries and all keys."""

from __future__ import annotations

from dragoman.engine.models.blocks import BlockLayout
from dragoman.engine.models.family import Family

FAMILY = Family(
    layout=BlockLayout(
        attention_norm=None,
        attention_post_norm="post_attention_layernorm",
        mlp_norm=None,
        mlp_post_norm="post_feedforward_layernorm",
        qk_norm="full",
    ),
    model_types=("olmo2",),
    gguf_names=("olmo2",),
    gguf_weights={
        "post_attention_layernorm": "post_attention_norm",
        "post_feedforward_layernorm": "post_ffw_norm",
    },
)
