"""How each kind of byte-level BPE splits text before merging: `tokenizer.ggml.pre` of a GGUF file.

The names are llama.cpp's; the patterns are those of the tokenizer.json of the models that use them.
"""

from __future__ import annotations

import dataclasses
from typing import Any

CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
# The tail that all of the patterns since cl100k share: symbols, line breaks, spaces.
TAIL = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
CL100K = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|" + TAIL
QWEN2 = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|" + TAIL
UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
O200K = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+{CONTRACTIONS}?"
    rf"|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*{CONTRACTIONS}?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
TEKKEN = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*"
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
DEEPSEEK_WORDS = (
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^" + "\r\n"
    r"\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[" + "\r\n"
    r"]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PreTokenizer:
    """`steps` go before the byte-level step, which splits as GPT-2 does where there are none.

    `ignore_merges`: a piece that is a whole entry of the vocabulary is taken without merging;
    `add_bos`: the first token where the file does not say so.
    """

    steps: tuple[dict[str, Any], ...] = ()
    gpt2_split: bool = False
    nfc: bool = False
    ignore_merges: bool = False
    add_bos: bool = False


def _split(pattern: str) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


DIGITS = {"type": "Digits", "individual_digits": True}

GPT2 = PreTokenizer(gpt2_split=True)
GPT2_DIGITS = PreTokenizer(steps=(DIGITS,), gpt2_split=True)
LLAMA3 = PreTokenizer(steps=(_split(CL100K),), ignore_merges=True, add_bos=True)
CL100K_PLAIN = PreTokenizer(steps=(_split(CL100K),))
QWEN = PreTokenizer(steps=(_split(QWEN2),), nfc=True)
O200K_WHOLE = PreTokenizer(steps=(_split(O200K),), ignore_merges=True)
CJK = "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"
DEEPSEEK3 = PreTokenizer(steps=(_split(r"\p{N}{1,3}"), _split(CJK), _split(DEEPSEEK_WORDS)))

PRE_TOKENIZERS = {
    # Without a name: files from before llama.cpp wrote one, which hold GPT-2's kind.
    "default": GPT2,
    "gpt-2": GPT2,
    "phi-2": GPT2,
    "mpt": GPT2,
    "olmo": GPT2,
    # SmolLM's own file splits digits too; transformers' reading of the GGUF file, which the expected ids come
    # from, does not.
    "smollm": GPT2,
    "starcoder": GPT2_DIGITS,
    "refact": GPT2_DIGITS,
    "command-r": GPT2_DIGITS,
    "llama-bpe": LLAMA3,
    "llama3": LLAMA3,
    "llama-v3": LLAMA3,
    "falcon3": LLAMA3,
    "dbrx": CL100K_PLAIN,
    "smaug-bpe": CL100K_PLAIN,
    "olmo2": CL100K_PLAIN,
    "chatglm-bpe": CL100K_PLAIN,
    "glm4": CL100K_PLAIN,
    "qwen2": QWEN,
    "deepseek-r1-qwen": QWEN,
    "stablelm2": QWEN,
    "hunyuan": QWEN,
    "megrez": QWEN,
    "gpt-4o": O200K_WHOLE,
    "llama4": O200K_WHOLE,
    "tekken": PreTokenizer(steps=(_split(TEKKEN),), ignore_merges=True, add_bos=True),
    "deepseek-v3": DEEPSEEK3,
}
