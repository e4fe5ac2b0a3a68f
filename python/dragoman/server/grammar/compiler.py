"""Compiles grammars on threads of their own, within bounds."""

from __future__ import annotations

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any

from llguidance import LLMatcher, LLParserLimits, LLTokenizer

from dragoman import _core
from dragoman.engine import MakeMask
from dragoman.server.errors import ApiError
from dragoman.server.grammar.literal import Literals
from dragoman.server.grammar.mask import GrammarMask, MaskAfterReasoning, first_line
from dragoman.server.grammar.source import grammar_source

THREADS = 2
STACK_BYTES = 512 << 20
"""llguidance recurses along the references of a grammar. Pages that are never touched cost nothing."""

KEPT = 128
"""Compiled grammars that are kept: clients send the same schema again and again."""

LIMITS = {
    # The library's own defaults would let one mask take seconds; these let it take some tens of milliseconds.
    "step_max_items": 10_000,
    "step_lexer_fuel": 200_000,
    "initial_lexer_fuel": 1_000_000,
    "max_lexer_states": 50_000,
    # The library's errors hold the state of its parser otherwise.
    "verbose_errors": False,
}


class GrammarCompiler:
    """The grammars of one model. Its tokenizer is read when the first grammar comes."""

    def __init__(
        self,
        tokenizer_json: Path,
        *,
        vocab_size: int,
        eos_token_ids: tuple[int, ...],
        derenderer: _core.Derenderer,
    ) -> None:
        self._path = tokenizer_json
        self._vocab_size = vocab_size
        self._eos = eos_token_ids
        self._derenderer = derenderer
        self._pool = _pool_with_stack(THREADS, STACK_BYTES)
        self._limits = LLParserLimits(**LIMITS)  # type: ignore[arg-type]
        self._lock = threading.Lock()
        self._loaded: tuple[LLTokenizer, Literals] | None = None
        self._compiled = lru_cache(KEPT)(self._compile)

    async def mask_maker(
        self, asked: dict[str, Any], prompt: list[int], reasoning_ended: bool | None
    ) -> MakeMask:
        """What makes the masks of a request's choices. Raises ApiError for a grammar that cannot be used.

        ``reasoning_ended`` is the generate request's: without it the prompt tells.
        """
        matcher = await asyncio.get_running_loop().run_in_executor(self._pool, self.compile, asked)
        words = -(-self._tokenizer()[0].vocab_size // 32)
        derenderer = self._derenderer
        ended = reasoning_ended
        if not derenderer.has_reasoning_parser:
            ended = True
        elif ended is None:
            ended = derenderer.prompt_ends_reasoning(prompt)

        def make() -> GrammarMask | MaskAfterReasoning:
            mask = GrammarMask(matcher.deep_copy(), words)
            return mask if ended else MaskAfterReasoning(mask, derenderer.output_ends_reasoning)

        return make

    def compile(self, asked: dict[str, Any]) -> LLMatcher:
        """The matcher of ``structured_outputs``, to be copied for use. Raises ApiError."""
        source, kind = grammar_source(asked, self._tokenizer()[1])
        return self._compiled(source, kind)

    def close(self) -> None:
        """Waits for no compilation that has begun."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _compile(self, source: str, kind: str) -> LLMatcher:
        matcher = LLMatcher(self._tokenizer()[0], source, log_level=0, limits=self._limits)
        # What is too complex for its first mask shows here, before the engine meets it.
        matcher.compute_bitmask()
        if matcher.is_error():
            message = first_line(matcher.get_error())
            raise ApiError("bad_request", f"{kind} cannot be used as a grammar: {message}", kind)
        return matcher

    def _tokenizer(self) -> tuple[LLTokenizer, Literals]:
        with self._lock:
            if self._loaded is None:
                text = self._path.read_text(encoding="utf-8")
                added = json.loads(text).get("added_tokens") or []
                literals = Literals(
                    {token["content"]: token["id"] for token in added},
                    {token["id"] for token in added if not token.get("special")} - {*self._eos},
                )
                self._loaded = (_tokenizer(text, self._vocab_size, self._eos), literals)
            return self._loaded


def _tokenizer(text: str, vocab_size: int, eos: tuple[int, ...]) -> LLTokenizer:
    tokenizer = LLTokenizer(text, eos_token=list(eos) or None)
    if tokenizer.vocab_size >= vocab_size:
        return tokenizer
    # Models pad their vocabulary; the mask is then as long as a row of logits.
    return LLTokenizer(text, n_vocab=vocab_size, eos_token=list(eos) or None)


def _pool_with_stack(threads: int, stack_bytes: int) -> ThreadPoolExecutor:
    """Threads with a stack of that size. They are started here, for the size is the process's setting."""
    before = threading.stack_size(stack_bytes)
    try:
        pool = ThreadPoolExecutor(threads, thread_name_prefix="dragoman-grammar")
        barrier = threading.Barrier(threads + 1)
        for _ in range(threads):
            pool.submit(barrier.wait)
        barrier.wait()
    finally:
        threading.stack_size(before)
    return pool
