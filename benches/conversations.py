"""Requests of the sizes that matter: a short chat, a long document, a conversation that grows."""

from __future__ import annotations

import random
from typing import Any

WORDS = """
the of and to in is it you that was for on are with as his they be at one have this from or had by
hot but some what there we can out other were all your when up use word how said an each she which
do their time if will way about many then them would write like so these her long make thing see him
two has look more day could go come did my sound no most number who over know water than call first
people may down
""".split()  # noqa: SIM905


def text(characters: int, seed: int) -> str:
    """Prose with numbers and punctuation, of about that many characters; the same for the same seed."""
    source = random.Random(seed)
    parts: list[str] = []
    size = 0
    while size < characters:
        words = [source.choice(WORDS) for _ in range(source.randint(5, 14))]
        if source.random() < 0.3:
            words.insert(2, str(source.randint(0, 99999)))
        sentence = " ".join(words).capitalize() + source.choice([". ", "! ", "? ", ".\n", ";\n\n"])
        parts.append(sentence)
        size += len(sentence)
    return "".join(parts)[:characters]


def short_chat() -> list[dict[str, Any]]:
    return [
        {"role": "system", "content": "You are a helpful assistant."},
        {"role": "user", "content": "What is the capital of France?"},
        {"role": "assistant", "content": "The capital of France is Paris."},
        {"role": "user", "content": "And of Italy?"},
    ]


def document(seed: int = 0) -> list[dict[str, Any]]:
    """A question on a document of 16 kB."""
    return [{"role": "user", "content": "Summarise this.\n\n" + text(16_000, seed)}]


def growing(turns: int = 50, seed: int = 0) -> list[dict[str, Any]]:
    """A conversation of 100 kB: `turns` exchanges of 2 kB."""
    messages = []
    for turn in range(turns):
        messages.append({"role": "user", "content": text(500, seed * 1000 + turn)})
        messages.append({"role": "assistant", "content": text(1500, seed * 1000 + 500 + turn)})
    return [*messages, {"role": "user", "content": "Go on."}]
