"""Weights and configuration from a GGUF file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gguf.quants import dequantize
from torch import Tensor

from dragoman.engine.errors import UnsupportedModelError
from dragoman.engine.weights.gguf_format import GGUFContainer

TOP_NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
}
LAYER_NAMES = {
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.qkv_proj": "attn_qkv",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}

CONFIG_KEYS = {
    "hidden_size": "embedding_length",
    "intermediate_size": "feed_forward_length",
    "num_hidden_layers": "block_count",
    "num_attention_heads": "attention.head_count",
    "num_key_value_heads": "attention.head_count_kv",
    "head_dim": "attention.key_length",
    "rms_norm_eps": "attention.layer_norm_rms_epsilon",
    "max_position_embeddings": "context_length",
    "rope_theta": "rope.freq_base",
    "sliding_window": "attention.sliding_window",
    "vocab_size": "vocab_size",
    "original_max_position_embeddings": "rope.scaling.original_context_length",
}


class GGUFFile:
    """An opened GGUF file: configuration under Hugging Face's keys, weights under Hugging Face's names."""

    def __init__(self, path: Path) -> None:
        self._container = GGUFContainer(path)

    @property
    def architecture(self) -> str:
        return str(self._metadata("general.architecture"))

    def config(self) -> dict[str, Any]:
        """The configuration with the keys of a ``config.json``."""
        keys: dict[str, Any] = {"model_type": self.architecture}
        for name, suffix in CONFIG_KEYS.items():
            value = self._metadata(f"{self.architecture}.{suffix}")
            if value is not None:
                keys[name] = value
        embedding = self._container.tensors.get("token_embd.weight")
        if embedding is not None:
            keys["vocab_size"] = embedding.shape[0]
        keys["tie_word_embeddings"] = "output.weight" not in self._container.tensors
        keys["rope_scaling"] = self._rope_scaling()
        rotary = self._metadata(f"{self.architecture}.rope.dimension_count")
        if rotary is not None and "num_attention_heads" in keys and "hidden_size" in keys:
            head_dim = keys.get("head_dim") or keys["hidden_size"] // keys["num_attention_heads"]
            keys["partial_rotary_factor"] = rotary / head_dim
        return keys

    def eos_token_ids(self) -> tuple[int, ...]:
        """Ids that end a turn or a text."""
        names = ("eos_token_id", "eot_token_id", "eom_token_id")
        found = (self._metadata(f"tokenizer.ggml.{name}") for name in names)
        return tuple(dict.fromkeys(int(token) for token in found if token is not None))

    def read(self, name: str) -> Tensor | None:
        """A weight as float32, in the file's own orientation and row order; ``None`` where it is absent."""
        tensor = self._container.tensors.get(name)
        if tensor is None:
            return None
        try:
            values = dequantize(self._container.data(tensor), tensor.type)
        except (NotImplementedError, KeyError) as error:
            raise UnsupportedModelError(
                f"tensor {name} is of type {tensor.type.name}, which is not supported"
            ) from error
        return torch.from_numpy(np.require(values, np.float32, ["C", "O", "W"]))

    def _metadata(self, key: str) -> Any:
        return self._container.metadata.get(key)

    def _rope_scaling(self) -> dict[str, Any] | None:
        prefix = f"{self.architecture}.rope.scaling"
        kind = self._metadata(f"{prefix}.type")
        factor = self._metadata(f"{prefix}.factor") or self._metadata(
            f"{self.architecture}.rope.scale_linear"
        )
        if kind in (None, "none") or not factor or factor == 1.0:
            return None
        scaling = {"rope_type": kind, "factor": factor}
        original = self._metadata(f"{prefix}.original_context_length")
        if original is not None:
            scaling["original_max_position_embeddings"] = original
        return scaling


class GGUFWeights:
    """A :class:`WeightSource` over a GGUF file."""

    def __init__(
        self,
        file: GGUFFile,
        device: torch.device,
        dtype: torch.dtype,
        *,
        num_heads: int,
        num_kv_heads: int,
        interleaved_heads: bool,
        names: Mapping[str, str],
    ) -> None:
        self._file = file
        self._device = device
        self._dtype = dtype
        self._interleaved = {"attn_q": num_heads, "attn_k": num_kv_heads} if interleaved_heads else {}
        self._layer_names = {**LAYER_NAMES, **names}

    def get(self, name: str) -> Tensor:
        weight = self.find(name)
        if weight is None:
            raise UnsupportedModelError(f"the GGUF file lacks {self._native(name)} (for {name})")
        return weight

    def find(self, name: str) -> Tensor | None:
        native = self._native(name)
        weight = self._file.read(native)
        if weight is None:
            return None
        heads = self._interleaved.get(native.split(".")[-2])
        if heads is not None:
            weight = separate_halves(weight, heads)
        return weight.to(self._device, self._dtype)

    def norm(self, name: str) -> Tensor:
        return self.get(name)

    def rope_factors(self) -> Tensor | None:
        return self._file.read("rope_freqs.weight")

    def _native(self, name: str) -> str:
        stem, _, kind = name.rpartition(".")
        if stem in TOP_NAMES:
            return f"{TOP_NAMES[stem]}.{kind}"
        _, _, layer, inner = stem.split(".", 3)
        return f"blk.{layer}.{self._layer_names.get(inner, inner)}.{kind}"


def separate_halves(weight: Tensor, heads: int) -> Tensor:
    """Undo the row order in which rotary pairs are neighbours: ``(pair, half)`` becomes ``(half, pair)``."""
    rows = weight.shape[0]
    return weight.view(heads, rows // heads // 2, 2, -1).transpose(1, 2).reshape(weight.shape)
