"""From a path to a model that runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch

from dragoman.engine.config import DataType, EngineConfig
from dragoman.engine.errors import UnsupportedModelError
from dragoman.engine.models import family_of, family_of_gguf
from dragoman.engine.models.architecture import ModelConfig
from dragoman.engine.models.blocks import Decoder
from dragoman.engine.models.configure import configure
from dragoman.engine.weights.gguf import GGUFFile, GGUFWeights
from dragoman.engine.weights.safetensors import SafetensorsDirectory, SafetensorsWeights

Progress = Callable[[int, int], None]


def load(
    path: Path,
    device: torch.device,
    dtype: torch.dtype,
    *,
    max_model_len: int | None = None,
    on_layer: Progress | None = None,
) -> Decoder:
    """Load a GGUF file or a directory with ``config.json`` and safetensors files.

    ``on_layer(done, all)`` is called after each layer. Raises :class:`UnsupportedModelError` for files or
    architectures that the engine cannot run.
    """
    if path.is_dir():
        return _load_safetensors(path, device, dtype, max_model_len, on_layer)
    if path.is_file():
        return _load_gguf(path, device, dtype, max_model_len, on_layer)
    raise UnsupportedModelError(f"no model at {path}: expected a GGUF file or a directory with config.json")


def choose_device(config: EngineConfig) -> torch.device:
    """The configured device; "auto" is the GPU where there is one."""
    if config.device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return torch.device(config.device)


def choose_dtype(name: DataType, device: torch.device) -> torch.dtype:
    """The configured type; "auto" is bf16 where the device multiplies it natively, else float32.

    Measured on a CPU with AVX512-BF16: bf16 is two to three times faster than float32 at every batch size;
    on CPUs without it bf16 is emulated and slower.
    """
    if name == "auto":
        if device.type == "cuda":
            return (
                torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else torch.float16
            )
        return torch.bfloat16 if native_cpu_bf16() else torch.float32
    return {"bfloat16": torch.bfloat16, "float16": torch.float16, "float32": torch.float32}[name]


def native_cpu_bf16() -> bool:
    """Whether this CPU has bf16 multiply instructions that torch uses."""
    query = getattr(torch.cpu, "get_capabilities", None)
    if query is None:
        return bool(torch.cpu._is_avx512_bf16_supported())
    capabilities = query()
    return any(capabilities.get(name) for name in ("avx512_bf16", "amx_bf16", "bf16"))


def require_same_shape(running: Decoder, other: Decoder) -> None:
    """Raise :class:`UnsupportedModelError` where other weights do not fit the running model and its cache."""
    _same_config(running.config, other.config)
    expected = _shapes(running)
    for name, shape in _shapes(other).items():
        if expected.get(name) != shape:
            raise UnsupportedModelError(
                f"the new weights have {name} of shape {shape}, the running model {expected.get(name)}"
            )


def _shapes(model: Decoder) -> dict[str, tuple[int, ...]]:
    """The shape of every weight; products that are computed as one count as one."""
    found = {"embedding": tuple(model.embedding.shape), "norm": tuple(model.norm.weight.shape)}
    found["head"] = (model.head.out_features, model.head.in_features)
    for layer in model.layers:
        products = {"qkv": layer.qkv, "out": layer.out, "gate_up": layer.gate_up, "down": layer.down}
        for name, product in products.items():
            found[f"layers.{layer.index}.{name}"] = (product.out_features, product.in_features)
        norms = {
            "attention_norm": layer.attention_norm,
            "attention_post_norm": layer.attention_post_norm,
            "mlp_norm": layer.mlp_norm,
            "mlp_post_norm": layer.mlp_post_norm,
            "query_norm": layer.query_norm,
            "key_norm": layer.key_norm,
        }
        for name, norm in norms.items():
            if norm is not None:
                found[f"layers.{layer.index}.{name}"] = tuple(norm.weight.shape)
    return found


def _same_config(running: ModelConfig, other: ModelConfig) -> None:
    for name in (
        "architecture",
        "vocab_size",
        "hidden_size",
        "num_layers",
        "num_heads",
        "num_kv_heads",
        "head_dim",
        "windows",
    ):
        mine, theirs = getattr(running, name), getattr(other, name)
        if mine != theirs:
            raise UnsupportedModelError(f"the new weights have {name}={theirs}, the running model {mine}")


def _load_gguf(
    path: Path, device: torch.device, dtype: torch.dtype, max_model_len: int | None, on_layer: Progress | None
) -> Decoder:
    file = GGUFFile(path)
    family = family_of_gguf(file.architecture)
    config = configure(family, file.config(), eos_token_ids=file.eos_token_ids(), max_model_len=max_model_len)
    source = GGUFWeights(
        file,
        device,
        dtype,
        num_heads=config.num_heads,
        num_kv_heads=config.num_kv_heads,
        interleaved_heads=family.gguf_interleaved_heads,
        names=family.gguf_weights,
    )
    return Decoder(config, family.layout, source, on_layer=on_layer)


def _load_safetensors(
    path: Path, device: torch.device, dtype: torch.dtype, max_model_len: int | None, on_layer: Progress | None
) -> Decoder:
    directory = SafetensorsDirectory(path)
    keys = directory.config()
    family = family_of(str(keys.get("model_type")))
    config = configure(family, keys, eos_token_ids=directory.eos_token_ids(), max_model_len=max_model_len)
    source = SafetensorsWeights(directory, device, dtype, norm_offset=family.norm_offset)
    if keys.get("tie_word_embeddings") is False and not directory.holds("lm_head.weight"):
        # Where the configuration does not say, the embedding stands in.
        raise directory.lacks("lm_head.weight")
    try:
        return Decoder(config, family.layout, source, on_layer=on_layer)
    finally:
        directory.close()
