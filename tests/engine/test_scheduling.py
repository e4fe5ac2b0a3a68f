"""Who runs when, and what sequences share: preemption, batches, choices, prefixes, priorities."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from dragoman.engine import Engine, SamplingParams, TokenOutput

from .collect import Pending, run
from .engines import PROMPT, all_blocks_free, build


def test_preempted_sequences_end_the_same(tiny_llama: Path) -> None:
    """More generations than the cache holds: each must come out as if it had been alone."""
    prompts = [[start, start + 1, start + 2, 9] for start in range(12)]
    params = SamplingParams(temperature=0.0, ignore_eos=True, max_tokens=200)
    drawn = SamplingParams(temperature=1.0, seed=3, ignore_eos=True, max_tokens=200)
    roomy = build(tiny_llama)
    roomy.start()
    expected = [Pending(roomy, prompt, params).result().token_ids for prompt in prompts]
    expected_drawn = Pending(roomy, prompts[-1], drawn).result().token_ids
    roomy.shutdown()
    # One sequence of 512 tokens takes 32 blocks of 8 KiB; these all together want 156.
    tight = build(tiny_llama, kv_cache_memory_bytes=40 * 16384, max_num_seqs=16)
    tight.start()
    try:
        pending = [Pending(tight, prompt, params) for prompt in prompts]
        last = Pending(tight, prompts[-1], drawn)
        assert [item.result().token_ids for item in pending] == expected
        assert last.result().token_ids == expected_drawn
        assert tight.stats.preemptions > 0
        assert all_blocks_free(tight)
    finally:
        tight.shutdown()


def test_same_ids_alone_and_among_others(engine: Engine) -> None:
    """Seeded draws and greedy choices do not depend on the batch."""
    drawn = SamplingParams(temperature=0.9, seed=42, max_tokens=20, ignore_eos=True)
    greedy = SamplingParams(temperature=0.0, max_tokens=20, ignore_eos=True, frequency_penalty=1.05)
    alone = [Pending(engine, PROMPT, params).result().token_ids for params in (drawn, greedy)]
    others = [
        Pending(
            engine, [step % 250 for step in range(length)], SamplingParams(temperature=0.8, max_tokens=30)
        )
        for length in range(3, 33)
    ]
    together = [Pending(engine, PROMPT, params) for params in (drawn, greedy)]
    assert [item.result().token_ids for item in together] == alone
    for item in others:
        item.result()


def test_choices_share_the_prompt(engine: Engine) -> None:
    prompt = [(7 * step) % 250 for step in range(70)]
    answer = run(engine, prompt, n=4, temperature=1.0, seed=9, max_tokens=8, ignore_eos=True)
    assert sorted(answer.choices) == [0, 1, 2, 3]
    assert len({tuple(choice.token_ids) for choice in answer.choices.values()}) == 4
    cached = {output.index: output.cached_tokens for output in answer.outputs}
    assert all(cached[index] == 64 for index in (1, 2, 3))
    # Choice i of seed s is the single choice of seed s + i.
    second = run(engine, prompt, temperature=1.0, seed=10, max_tokens=8, ignore_eos=True)
    assert answer.choices[1].token_ids == second.token_ids


def test_prefix_cache_and_salt(tiny_llama: Path) -> None:
    engine = build(tiny_llama)
    engine.start()
    try:
        prompt = [(11 * step) % 250 for step in range(50)]

        def cached(**options: Any) -> int:
            return (
                run(engine, prompt, options=options, temperature=0.0, max_tokens=1).outputs[0].cached_tokens
            )

        assert cached() == 0
        assert cached() == 48
        assert cached(cache_salt="tenant") == 0
        assert cached(cache_salt="tenant") == 48
        assert engine.stats.prefix_cache_hits == 96
        engine.reset_prefix_cache().result()
        assert cached() == 0
    finally:
        engine.shutdown()


def test_lower_priority_value_goes_first(tiny_llama: Path) -> None:
    engine = build(tiny_llama, max_num_seqs=1)
    engine.start()
    order: list[str] = []
    done = threading.Event()

    def note(name: str) -> Any:
        def receive(output: TokenOutput) -> None:
            if output.finished:
                order.append(name)
                if len(order) == 3:
                    done.set()

        return receive

    try:
        engine.pause().result()
        params = SamplingParams(temperature=0.0, max_tokens=2, ignore_eos=True)
        for name, priority in (("late", 5), ("first", -1), ("middle", 0)):
            engine.submit(name, PROMPT, params, priority=priority, on_output=note(name))
        assert engine.is_paused
        engine.resume().result()
        assert done.wait(30)
        assert order == ["first", "middle", "late"]
    finally:
        engine.shutdown()
