"""Vocabularies written as llama.cpp writes them come back with the answers of their tokenizer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from dragoman.hub import ModelNotFoundError
from dragoman.hub.gguf_vocabulary import BYTE, CONTROL, NORMAL, SPACE, UNUSED, USER_DEFINED, convert
from tests.conformance.data import json_lines

# The model of ../shared/models and its `tokenizer.ggml.pre`.
BYTE_LEVEL = {"llama3": "llama-bpe", "qwen3": "qwen2", "deepseek": "deepseek-v3"}


def vocabulary(tokenizer: dict[str, Any]) -> tuple[list[str], list[int]]:
    """Texts and llama.cpp's types of a tokenizer.json's ids; ids without a text are unused."""
    by_id = {index: text for text, index in tokenizer["model"]["vocab"].items()}
    kinds: dict[int, int] = {}
    for token in tokenizer["added_tokens"]:
        by_id[token["id"]] = token["content"]
        kinds[token["id"]] = CONTROL if token["special"] else USER_DEFINED
    size = max(by_id) + 1
    texts = [by_id.get(index, f"[PAD{index}]") for index in range(size)]
    return texts, [kinds.get(index, NORMAL if index in by_id else UNUSED) for index in range(size)]


def check(metadata: dict[str, Any], cases: list[dict[str, Any]]) -> None:
    tokenizer = Tokenizer.from_str(json.dumps(convert(metadata)))
    assert cases
    for case in cases:
        encoding = tokenizer.encode(case["text"], add_special_tokens=False)
        assert encoding.ids == case["ids"], case["text"]
        assert [list(pair) for pair in encoding.offsets] == case["offsets"], case["text"]
        assert tokenizer.decode(case["ids"], skip_special_tokens=False) == case["decoded"], case["text"]
        assert tokenizer.decode(case["ids"]) == case["decoded_skip"], case["text"]


@pytest.mark.parametrize("model", sorted(BYTE_LEVEL))
def test_byte_level(model: str, shared: Path) -> None:
    source = json.loads((shared / "models" / model / "tokenizer.json").read_bytes())
    texts, types = vocabulary(source)
    metadata = {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": BYTE_LEVEL[model],
        "tokenizer.ggml.tokens": texts,
        "tokenizer.ggml.token_type": types,
        "tokenizer.ggml.merges": [" ".join(pair) for pair in source["model"]["merges"]],
    }
    check(metadata, json_lines(shared / f"conformance/tokenization/{model}.jsonl"))


def test_sentence_piece(shared: Path) -> None:
    """Gemma 3: llama.cpp writes runs of spaces as user-defined tokens with real spaces, scored -1000."""
    source = json.loads((shared / "models/gemma3/tokenizer.json").read_bytes())
    texts, types = vocabulary(source)
    scores = [0.0] * len(texts)
    for index, text in enumerate(texts):
        if len(text) == 6 and text.startswith("<0x"):
            types[index] = BYTE
        if len(text) > 1 and set(text) == {SPACE}:
            texts[index] = " " * len(text)
            types[index] = USER_DEFINED
        # SentencePiece's BPE scores fall by one from piece to piece.
        scores[index] = -1000.0 if types[index] == USER_DEFINED else -float(index)
    metadata = {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": texts,
        "tokenizer.ggml.token_type": types,
        "tokenizer.ggml.scores": scores,
        "tokenizer.ggml.add_space_prefix": False,
        "tokenizer.ggml.unknown_token_id": 3,
    }
    check(metadata, json_lines(shared / "conformance/tokenization/gemma3.jsonl"))


@pytest.mark.parametrize(
    ("metadata", "named"),
    [
        ({"tokenizer.ggml.model": "gpt2"}, "no vocabulary"),
        ({"tokenizer.ggml.model": "rwkv", "tokenizer.ggml.tokens": ["a"]}, "'rwkv'"),
        (
            {
                "tokenizer.ggml.model": "gpt2",
                "tokenizer.ggml.tokens": ["a"],
                "tokenizer.ggml.pre": "never-seen",
            },
            "'never-seen'",
        ),
        ({"tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": ["a"]}, "no scores"),
    ],
)
def test_what_is_not_known_is_refused_by_name(metadata: dict[str, Any], named: str) -> None:
    with pytest.raises(ModelNotFoundError, match=named) as caught:
        convert(metadata)
    assert "--tokenizer" in str(caught.value)


@pytest.mark.parametrize(("add_bos", "expected"), [(True, [0, 2]), (False, [2])])
def test_the_first_token_is_added_where_the_file_says_so(add_bos: bool, expected: list[int]) -> None:
    metadata = {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.tokens": ["<s>", "</s>", "a"],
        "tokenizer.ggml.token_type": [CONTROL, CONTROL, NORMAL],
        "tokenizer.ggml.bos_token_id": 0,
        "tokenizer.ggml.add_bos_token": add_bos,
    }
    assert Tokenizer.from_str(json.dumps(convert(metadata))).encode("a").ids == expected
