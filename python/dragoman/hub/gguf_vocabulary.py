"""Turns the vocabulary of a GGUF file into a `tokenizers` JSON."""

from __future__ import annotations

from typing import Any

from dragoman.hub.files import ModelNotFoundError
from dragoman.hub.pretokenizers import PRE_TOKENIZERS

# `tokenizer.ggml.token_type`
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6
SPACE = "\u2581"


def convert(metadata: dict[str, Any]) -> dict[str, Any]:
    """The tokenizer.json of a GGUF file's metadata. Raises ModelNotFoundError where the kind is not known."""
    kind = metadata.get("tokenizer.ggml.model")
    tokens = metadata.get("tokenizer.ggml.tokens")
    if not isinstance(tokens, list) or not tokens:
        raise ModelNotFoundError("the GGUF file holds no vocabulary; name a tokenizer with --tokenizer")
    types = metadata.get("tokenizer.ggml.token_type") or [NORMAL] * len(tokens)
    if kind == "gpt2":
        return _byte_level(metadata, tokens, types)
    if kind == "llama":
        return _sentence_piece(metadata, tokens, types)
    raise ModelNotFoundError(
        f"the GGUF file's vocabulary is of the kind {kind!r}, not 'gpt2' or 'llama'; "
        "name a tokenizer with --tokenizer"
    )


def _byte_level(metadata: dict[str, Any], tokens: list[str], types: list[int]) -> dict[str, Any]:
    name = metadata.get("tokenizer.ggml.pre", "default")
    pre = PRE_TOKENIZERS.get(name)
    if pre is None:
        raise ModelNotFoundError(
            f"the GGUF file splits text as {name!r} does (tokenizer.ggml.pre), which is not known here; "
            "name a tokenizer with --tokenizer"
        )
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    steps = [*pre.steps, {**byte_level, "use_regex": pre.gpt2_split}]
    return {
        **_frame(tokens, types),
        "normalizer": {"type": "NFC"} if pre.nfc else None,
        "pre_tokenizer": steps[0] if len(steps) == 1 else {"type": "Sequence", "pretokenizers": steps},
        "post_processor": _post_processor(metadata, tokens, add_bos=pre.add_bos),
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {
            **_bpe(tokens, [merge.split(" ", 1) for merge in metadata.get("tokenizer.ggml.merges") or []]),
            "ignore_merges": pre.ignore_merges,
        },
    }


def _sentence_piece(metadata: dict[str, Any], tokens: list[str], types: list[int]) -> dict[str, Any]:
    scores = metadata.get("tokenizer.ggml.scores")
    # llama.cpp writes runs of spaces as they are; the tokenizer works on text where they are replaced.
    tokens = [token.replace(" ", SPACE) for token in tokens]
    if not isinstance(scores, list) or len(scores) != len(tokens):
        raise ModelNotFoundError("the GGUF file's SentencePiece vocabulary has no scores; name a --tokenizer")
    prefix = bool(metadata.get("tokenizer.ggml.add_space_prefix", True))
    replace = {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}
    restore = {"type": "Replace", "pattern": {"String": SPACE}, "content": " "}
    decoders: list[dict[str, Any]] = [restore, {"type": "ByteFallback"}, {"type": "Fuse"}]
    normalizer: dict[str, Any] = replace
    if prefix:
        normalizer = {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": SPACE}, replace]}
        decoders.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    unknown = metadata.get("tokenizer.ggml.unknown_token_id")
    if unknown is None:
        unknown = types.index(UNKNOWN) if UNKNOWN in types else None
    return {
        **_frame(tokens, types),
        "normalizer": normalizer,
        "pre_tokenizer": None,
        "post_processor": _post_processor(metadata, tokens, add_bos=True),
        "decoder": {"type": "Sequence", "decoders": decoders},
        "model": {
            **_bpe(tokens, _merges(tokens, types, scores)),
            "unk_token": None if unknown is None else tokens[unknown],
            "fuse_unk": True,
            "byte_fallback": BYTE in types,
        },
    }


def _frame(tokens: list[str], types: list[int]) -> dict[str, Any]:
    """What both kinds share: the tokens that are matched whole, before anything is split."""
    added = [
        {
            "id": index,
            "content": tokens[index],
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": kind != USER_DEFINED,
        }
        for index, kind in enumerate(types)
        if kind in (UNKNOWN, CONTROL) or (kind == USER_DEFINED and not _is_space_run(tokens[index]))
    ]
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added}


def _is_space_run(token: str) -> bool:
    """Runs of spaces are made by merging: matching looks at the text before spaces are replaced."""
    return token.strip(SPACE) == ""


def _bpe(tokens: list[str], merges: list[list[str]]) -> dict[str, Any]:
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": False,
        # Of two entries with one text the first keeps the id.
        "vocab": {token: index for index, token in reversed(list(enumerate(tokens)))},
        "merges": merges,
    }


def _merges(tokens: list[str], types: list[int], scores: list[float]) -> list[list[str]]:
    """The merges behind SentencePiece scores: every way to make a piece of two, best piece first.

    SentencePiece joins the neighbours whose joined piece has the highest score, so the score of the whole
    ranks the merge. Pieces that the user defined have no true score and go first, in the order of their ids;
    among the ways to make one piece, the longest left part goes first. Both as in Gemma's tokenizer.json.
    """
    skipped = (UNKNOWN, CONTROL, BYTE)
    ids = {token: index for index, token in enumerate(tokens) if types[index] not in skipped}
    ranked: list[tuple[bool, float, int, str, str]] = []
    for piece, index in ids.items():
        defined = types[index] == USER_DEFINED
        rank = float(index) if defined else -scores[index]
        for cut in range(1, len(piece)):
            left, right = piece[:cut], piece[cut:]
            if left in ids and right in ids:
                ranked.append((not defined, rank, -cut, left, right))
    ranked.sort()
    return [[left, right] for _, _, _, left, right in ranked]


def _post_processor(metadata: dict[str, Any], tokens: list[str], *, add_bos: bool) -> dict[str, Any]:
    """Adds the first and the last token that the file asks for."""
    before = _edge_token(metadata, tokens, "bos", default=add_bos)
    after = _edge_token(metadata, tokens, "eos", default=False)
    special = {text: {"id": text, "ids": [index], "tokens": [text]} for text, index in before + after}

    def around(sequence: str, type_id: int) -> list[dict[str, Any]]:
        def pieces(edge: list[tuple[str, int]]) -> list[dict[str, Any]]:
            return [{"SpecialToken": {"id": text, "type_id": type_id}} for text, _ in edge]

        return [*pieces(before), {"Sequence": {"id": sequence, "type_id": type_id}}, *pieces(after)]

    return {
        "type": "TemplateProcessing",
        "single": around("A", 0),
        "pair": around("A", 0) + around("B", 1),
        "special_tokens": special,
    }


def _edge_token(
    metadata: dict[str, Any], tokens: list[str], which: str, *, default: bool
) -> list[tuple[str, int]]:
    index = metadata.get(f"tokenizer.ggml.{which}_token_id")
    if not metadata.get(f"tokenizer.ggml.add_{which}_token", default):
        return []
    if not isinstance(index, int) or not 0 <= index < len(tokens):
        return []
    return [(tokens[index], index)]
