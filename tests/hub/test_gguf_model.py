"""The vocabulary of the SmolLM2 GGUF file gives what transformers' reading of the same file gives."""

from __future__ import annotations

from pathlib import Path

import pytest
from tokenizers import Tokenizer

from dragoman.hub import ModelFiles, ModelNotFoundError, resolve
from dragoman.hub.gguf_header import read_metadata
from tests.conformance.data import json_lines


@pytest.fixture(scope="module")
def files(smollm2: Path) -> ModelFiles:
    return resolve(str(smollm2), weights=True)


def test_answers_are_those_of_the_reference_tokenizer(files: ModelFiles, shared: Path) -> None:
    tokenizer = Tokenizer.from_file(str(files.tokenizer_json))
    cases = json_lines(shared / "conformance/tokenization/smollm2.jsonl")
    assert cases
    for case in cases:
        text = case["text"]
        encoding = tokenizer.encode(text, add_special_tokens=False)
        assert encoding.ids == case["ids"], text
        assert [list(pair) for pair in encoding.offsets] == case["offsets"], text
        assert tokenizer.encode(text).ids == case["ids_with_special"], text
        assert tokenizer.decode(case["ids"], skip_special_tokens=False) == case["decoded"], text
        assert tokenizer.decode(case["ids"]) == case["decoded_skip"], text


def test_settings_are_those_of_the_reference_directory(files: ModelFiles, shared: Path) -> None:
    reference = resolve(str(shared / "models/smollm2"))
    assert files.chat_template == reference.chat_template
    assert files.special_tokens == reference.special_tokens
    for key in ("model_type", "vocab_size", "max_position_embeddings", "bos_token_id", "eos_token_id"):
        assert files.config[key] == reference.config[key]


def test_weights_are_the_file_itself(files: ModelFiles, smollm2: Path) -> None:
    assert files.weights == smollm2
    assert resolve(str(smollm2)).weights is None


def test_the_metadata_is_what_the_gguf_package_reads(smollm2: Path) -> None:
    gguf = pytest.importorskip("gguf")
    ours = read_metadata(smollm2)
    for name, field in gguf.GGUFReader(smollm2).fields.items():
        # The package adds three of its own.
        if not name.startswith("GGUF."):
            assert ours[name] == field.contents(), name


@pytest.mark.parametrize("length", [0, 3, 8, 100, 5000])
def test_a_file_cut_short_is_refused_by_name(smollm2: Path, tmp_path: Path, length: int) -> None:
    damaged = tmp_path / "damaged.gguf"
    damaged.write_bytes(smollm2.read_bytes()[:length])
    with pytest.raises(ModelNotFoundError, match=r"damaged\.gguf"):
        resolve(str(damaged))
