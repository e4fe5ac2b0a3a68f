"""SmolLM2's tokenizer as HF transformers reads it from the GGUF file."""

from __future__ import annotations

import random
from typing import Any

from transformers import AutoTokenizer, PreTrainedTokenizerFast

from dragoman.hub.packaged import find_packaged
from tests.conformance.data import OWN
from tests.conformance.record.write import write_lines

TEXTS = [
    "", " ", "  ", "\n", "\r\n\t", "a", "Hello, world!", "don't WON'T we'll I'd", "  leading and trailing  ",
    "1234567890 3.14159 1,000,000 0x1F", "snake_case camelCase kebab-case", "def f(x):\n    return x ** 2\n\n\n",
    "ÄÖÜ äöü ß ñ ç", "日本語のテキスト。中文文本", "한국어 텍스트", "Привет, мир", "مرحبا بالعالم", "שלום",
    "🙂👩‍👩‍👧🇳🇴", "e\u0301 \u00e9 \u1e9b\u0323", "\u00a0\u2003\u3000\u200b\ufeff", "\x00\x01\x7f",
    "\ud7ff\ue000\U0010ffff", "<|im_start|>user\nHi<|im_end|>", "<|im_start", "<|endoftext|><|endoftext|>",
    "< |im_end|>", "[INST] <s> </s> <unk>",
    '{"a": [1, 2.5, null], "b": "\\u00e9"}', "https://example.org/a?b=c&d=%20#e", "a" * 300, "ab " * 100, "\n" * 40,
]  # fmt: skip


def texts() -> list[str]:
    """The texts above, and random ones of a fixed seed from several parts of Unicode."""
    dice = random.Random(20260115)
    ranges = [(32, 126), (32, 126), (160, 591), (0x400, 0x4FF), (0x4E00, 0x4FFF), (0x1F600, 0x1F64F), (9, 13)]
    found = list(TEXTS)
    for length in range(1, 101):
        characters = [chr(dice.randint(*dice.choice(ranges))) for _ in range(length)]
        found.append("".join(dice.choice((" ", "")) + character for character in characters))
    return found


def case(tokenizer: PreTrainedTokenizerFast, text: str) -> dict[str, Any]:
    encoding = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    ids = encoding["input_ids"]
    return {
        "text": text,
        "ids": ids,
        "offsets": [list(offset) for offset in encoding["offset_mapping"]],
        "ids_with_special": tokenizer(text)["input_ids"],
        "decoded": tokenizer.decode(ids, clean_up_tokenization_spaces=False),
        "decoded_skip": tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False),
    }


def record() -> None:
    """Writes `tokenization/smollm2.jsonl`."""
    path = find_packaged("smollm2")
    tokenizer = AutoTokenizer.from_pretrained(str(path.parent), gguf_file=path.name)
    write_lines(OWN / "tokenization" / "smollm2.jsonl", [case(tokenizer, text) for text in texts()])
