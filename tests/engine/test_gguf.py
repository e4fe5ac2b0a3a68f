"""GGUF files against the safetensors they were made from.

Names and row orders of the files come from the ``gguf`` package and llama.cpp's published conversion, not
from the engine.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch

from dragoman.engine import Engine, EngineConfig, UnsupportedModelError
from dragoman.engine.weights.gguf import GGUFFile, separate_halves

from .collect import run
from .conftest import TINY_LLAMA

transformers = pytest.importorskip("transformers", reason="transformers is not installed")

# Rows of 64 and 96 numbers: whole blocks of 32 for the quantised types.
SMALL = {**TINY_LLAMA, "head_dim": 16, "initializer_range": 0.2}
PROMPT = [5, 17, 99, 3, 200, 41, 8, 77, 123, 250, 64, 31]

ARCHITECTURES: dict[str, tuple[gguf.MODEL_ARCH, Any]] = {
    "llama": (gguf.MODEL_ARCH.LLAMA, lambda: transformers.LlamaConfig(**SMALL)),
    "qwen2": (gguf.MODEL_ARCH.QWEN2, lambda: transformers.Qwen2Config(**SMALL)),
    "qwen3": (gguf.MODEL_ARCH.QWEN3, lambda: transformers.Qwen3Config(**SMALL)),
    "gemma3": (
        gguf.MODEL_ARCH.GEMMA3,
        lambda: transformers.Gemma3TextConfig(
            **{**SMALL, "num_hidden_layers": 6}, sliding_window=9, query_pre_attn_scalar=16
        ),
    ),
    "phi3": (gguf.MODEL_ARCH.PHI3, lambda: transformers.Phi3Config(**SMALL, sliding_window=64)),
    "smollm3": (
        gguf.MODEL_ARCH.SMOLLM3,
        lambda: transformers.SmolLM3Config(**{**SMALL, "num_hidden_layers": 5}),
    ),
    "olmo2": (gguf.MODEL_ARCH.OLMO2, lambda: transformers.Olmo2Config(**SMALL)),
}
INTERLEAVED = {"llama", "smollm3"}


def interleave(weight: np.ndarray, heads: int) -> np.ndarray:
    """The row order that llama.cpp's converter gives query and key weights of Llama models."""
    shape = weight.shape
    return weight.reshape(heads, 2, shape[0] // heads // 2, *shape[1:]).swapaxes(1, 2).reshape(shape)


# Where the half-precision scales of a block lie, and sizes for weights of about 0.1: d, then dmin.
K_SCALES = {
    gguf.GGMLQuantizationType.Q4_K: {0: 2e-4, 2: 1.5e-3},
    gguf.GGMLQuantizationType.Q5_K: {0: 1e-4, 2: 1.5e-3},
    gguf.GGMLQuantizationType.Q6_K: {208: 1e-4},
}


def pack(values: np.ndarray, kind: gguf.GGMLQuantizationType) -> np.ndarray:
    """``values`` in blocks of a type; random blocks where the ``gguf`` package can only read it."""
    if kind not in K_SCALES:
        packed: np.ndarray = gguf.quantize(values, kind)
        return packed
    block, size = gguf.GGML_QUANT_SIZES[kind]
    rng = np.random.default_rng(values.size)
    blocks = rng.integers(0, 256, (values.size // block, size), dtype=np.uint8)
    for place, scale in K_SCALES[kind].items():
        halves = rng.uniform(0.5, 1.5, (len(blocks), 1)) * scale
        blocks[:, place : place + 2] = halves.astype(np.float16).view(np.uint8)
    return blocks.reshape(*values.shape[:-1], -1)


def write(model: Any, name: str, path: Path, kind: gguf.GGMLQuantizationType) -> None:
    """Write a GGUF file from a transformers model."""
    arch, _ = ARCHITECTURES[name]
    config = model.config
    writer = gguf.GGUFWriter(path, gguf.MODEL_ARCH_NAMES[arch])
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(config.head_dim if hasattr(config, "head_dim") else 16)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    rope = config.rope_parameters
    writer.add_rope_freq_base(rope.get("rope_theta") or rope["full_attention"]["rope_theta"])
    if getattr(config, "sliding_window", None):
        writer.add_sliding_window(config.sliding_window)
    writer.add_eos_token_id(2)
    writer.add_uint32("tokenizer.ggml.eot_token_id", 9)
    names = gguf.get_tensor_name_map(arch, config.num_hidden_layers)
    for tensor_name, tensor in model.state_dict().items():
        if tensor_name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        values = tensor.float().numpy()
        if name in INTERLEAVED and "q_proj" in tensor_name:
            values = interleave(values, config.num_attention_heads)
        if name in INTERLEAVED and "k_proj" in tensor_name:
            values = interleave(values, config.num_key_value_heads)
        if name == "gemma3" and tensor_name.endswith("norm.weight"):
            values = values + 1
        native = names.get_name(tensor_name, try_suffixes=(".weight", ".bias"))
        assert native is not None, tensor_name
        used = kind if values.ndim > 1 else gguf.GGMLQuantizationType.F32
        writer.add_tensor(native, pack(values, used), raw_dtype=used)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def make(name: str) -> Any:
    torch.manual_seed(19)
    model = transformers.AutoModelForCausalLM.from_config(ARCHITECTURES[name][1](), dtype=torch.float32)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 1:
                parameter.add_(torch.randn_like(parameter) * 0.1)
    return model


def generate(path: Path) -> list[int]:
    engine = Engine(EngineConfig(model=path, device="cpu", dtype="float32", kv_cache_memory_bytes=8 << 20))
    engine.start()
    try:
        return run(engine, PROMPT, temperature=0.0, max_tokens=16, ignore_eos=True).token_ids
    finally:
        engine.shutdown()


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_same_as_safetensors(name: str, tmp_path: Path) -> None:
    model = make(name)
    model.save_pretrained(tmp_path / "safetensors")
    file = tmp_path / "model.gguf"
    write(model, name, file, gguf.GGMLQuantizationType.F32)
    assert GGUFFile(file).eos_token_ids() == (2, 9)
    assert generate(file) == generate(tmp_path / "safetensors")


@pytest.mark.parametrize("kind", ["F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1"])
def test_types_are_read_as_the_gguf_package_reads_them(kind: str, tmp_path: Path) -> None:
    model = make("llama")
    file = tmp_path / "model.gguf"
    write(model, "llama", file, gguf.GGMLQuantizationType[kind])
    reader = gguf.GGUFReader(file)
    opened = GGUFFile(file)
    for tensor in reader.tensors:
        expected = gguf.dequantize(tensor.data, tensor.tensor_type)
        got = opened.read(tensor.name)
        assert got is not None
        assert np.array_equal(got.numpy(), expected.astype(np.float32))
    assert len(generate(file)) == 16


@pytest.mark.parametrize("kind", ["Q4_0", "Q4_1", "Q4_K", "Q5_K", "Q6_K", "Q8_0", "F16", "BF16"])
def test_types_answer_as_transformers_with_the_same_weights(kind: str, tmp_path: Path) -> None:
    """Whole rows of 256, as the K types need; the weights are read back by the ``gguf`` package."""
    torch.manual_seed(41)
    config = transformers.Qwen3Config(
        **{**SMALL, "hidden_size": 256, "intermediate_size": 512, "head_dim": 64, "initializer_range": 0.1}
    )
    model = transformers.Qwen3ForCausalLM(config).eval()
    file = tmp_path / "model.gguf"
    write(model, "qwen3", file, gguf.GGMLQuantizationType[kind])
    stored = {tensor.name: tensor for tensor in gguf.GGUFReader(file).tensors}
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.QWEN3, config.num_hidden_layers)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            tensor = stored[names.get_name(name, try_suffixes=(".weight", ".bias"))]
            assert tensor.tensor_type.name == (kind if parameter.ndim > 1 else "F32")
            values = gguf.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
            parameter.copy_(torch.from_numpy(values))
    engine = Engine(EngineConfig(model=file, device="cpu", dtype="float32", kv_cache_memory_bytes=64 << 20))
    engine.start()
    try:
        answer = run(
            engine, PROMPT, temperature=0.0, max_tokens=16, ignore_eos=True, logprobs=0, prompt_logprobs=0
        )
    finally:
        engine.shutdown()
    with torch.no_grad():
        logits = model(torch.tensor([PROMPT + answer.token_ids])).logits[0]
    logprobs = torch.log_softmax(logits, -1)
    assert logits[len(PROMPT) - 1 : -1].argmax(-1).tolist() == answer.token_ids
    assert answer.prompt_logprobs is not None
    entries = [*answer.prompt_logprobs[1:], *answer.choices[0].logprobs]
    for entry, row in zip(entries, logprobs, strict=False):
        assert entry is not None
        assert entry.logprob == pytest.approx(float(row[entry.token_id]), abs=1e-3)


def test_separate_halves_undoes_the_converters_order() -> None:
    weight = np.arange(4 * 16 * 3, dtype=np.float32).reshape(64, 3)
    assert np.array_equal(separate_halves(torch.from_numpy(interleave(weight, 4)), 4).numpy(), weight)


def test_what_is_no_gguf_file_is_refused(tmp_path: Path) -> None:
    for content in (b"", b"GGUF", b"not a model at all, but long enough to look at"):
        path = tmp_path / "bad.gguf"
        path.write_bytes(content)
        with pytest.raises(UnsupportedModelError):
            Engine(EngineConfig(model=path))


def test_unknown_architecture_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "odd.gguf"
    writer = gguf.GGUFWriter(path, "oddity")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(UnsupportedModelError, match="oddity"):
        Engine(EngineConfig(model=path))


def test_missing_path_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedModelError, match="no model at"):
        Engine(EngineConfig(model=tmp_path / "nowhere"))


def test_real_model_gives_the_known_answer(gguf_path: Path) -> None:
    """SmolLM2 in float32: the capital of France (issue: ids 504 3575 282 4649 314 7042 30 2)."""
    engine = Engine(
        EngineConfig(
            model=gguf_path, device="cpu", dtype="float32", max_model_len=64, kv_cache_memory_bytes=8 << 20
        )
    )
    engine.start()
    try:
        prompt = [1, 4093, 198, 1780, 314, 260, 3575, 282, 4649, 47, 2, 198, 1, 520, 9531, 198]
        answer = run(engine, prompt, temperature=0.0)
    finally:
        engine.shutdown()
    assert answer.token_ids == [504, 3575, 282, 4649, 314, 7042, 30, 2]
    assert answer.choices[0].stop_reason == 2
