"""Safetensors in several files and types, whole and damaged."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from dragoman.engine import UnsupportedModelError
from dragoman.engine.config import DataType
from dragoman.engine.weights.safetensors import SafetensorsDirectory, SafetensorsWeights

from .collect import Answer, run
from .engines import PROMPT, build
from .sharded import DAMAGES, SHARDS, save

transformers = pytest.importorskip("transformers", reason="transformers is not installed")

TYPES: dict[DataType, torch.dtype] = {
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
}


def answer(path: Path, dtype: DataType) -> Answer:
    engine = build(path, dtype=dtype)
    engine.start()
    try:
        return run(engine, PROMPT, temperature=0.0, max_tokens=12, ignore_eos=True, logprobs=0)
    finally:
        engine.shutdown()


@pytest.mark.parametrize("runs", TYPES)
@pytest.mark.parametrize("stored", TYPES)
def test_every_type_is_read_into_every_type(stored: DataType, runs: DataType, tmp_path: Path) -> None:
    """Two files with an index; what is expected is torch's own rounding, and transformers' probabilities."""
    save(tmp_path, TYPES[stored])
    assert sorted(path.name for path in tmp_path.glob("*.safetensors")) == list(SHARDS)
    files = {name: value for shard in SHARDS for name, value in load_file(tmp_path / shard).items()}
    source = SafetensorsWeights(
        SafetensorsDirectory(tmp_path), torch.device("cpu"), TYPES[runs], norm_offset=0.0
    )
    for name, value in files.items():
        assert value.dtype is TYPES[stored]
        assert torch.equal(source.get(name), value.to(TYPES[runs]))

    got = answer(tmp_path, runs)
    model = transformers.AutoModelForCausalLM.from_pretrained(tmp_path, dtype=TYPES[runs]).eval()
    with torch.no_grad():
        logits = model(torch.tensor([PROMPT + got.token_ids])).logits[0]
    expected = torch.log_softmax(logits.float(), -1)[len(PROMPT) - 1 : -1]
    # Logits of about 10 are steps of 2^-4 apart in bf16 and of 2^-7 in fp16; a sum of 64 products adds a few.
    tolerance = {"float32": 1e-4, "float16": 0.05, "bfloat16": 0.4}[runs]
    for entry, row in zip(got.choices[0].logprobs, expected, strict=True):
        assert entry.logprob == pytest.approx(float(row[entry.token_id]), abs=tolerance)
        assert entry.logprob >= float(row.max()) - 2 * tolerance


def test_one_file_and_two_are_the_same(tmp_path: Path) -> None:
    whole = answer(save(tmp_path / "one", files=1), "float32")
    assert (tmp_path / "one" / "model.safetensors").is_file()
    assert answer(save(tmp_path / "two"), "float32").token_ids == whole.token_ids


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_directory_is_refused_and_the_file_named(damage: str, tmp_path: Path) -> None:
    named = DAMAGES[damage](save(tmp_path))
    with pytest.raises(UnsupportedModelError, match=re.escape(str(named))):
        build(tmp_path)


@pytest.mark.parametrize("name", ["lm_head.weight", "model.layers.0.mlp.down_proj.weight"])
def test_a_single_file_without_a_weight_is_refused(name: str, tmp_path: Path) -> None:
    path = save(tmp_path, files=1) / "model.safetensors"
    weights = load_file(path)
    del weights[name]
    save_file(weights, path)
    with pytest.raises(UnsupportedModelError, match=f"{re.escape(str(path))} lacks {name}"):
        build(tmp_path)
