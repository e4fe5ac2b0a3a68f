"""Chooses, before every step, which sequences run and how many tokens of each."""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass, field

from dragoman.engine.kv_cache import BlockPool
from dragoman.engine.sequence import Sequence, Status


@dataclass(slots=True)
class ScheduledSequence:
    """A sequence in a step: ``num_tokens`` more tokens of it are read, from ``start`` on."""

    sequence: Sequence
    start: int
    num_tokens: int

    @property
    def samples(self) -> bool:
        """True where the step reads the sequence's last token, so that a next one can be chosen."""
        return self.start + self.num_tokens == len(self.sequence)


@dataclass(slots=True)
class Step:
    """One forward pass; decodes (one token read, all earlier ones cached) come before prefill chunks."""

    scheduled: list[ScheduledSequence] = field(default_factory=list)
    preempted: int = 0

    @property
    def num_tokens(self) -> int:
        return sum(item.num_tokens for item in self.scheduled)


class Scheduler:
    """Continuous batching with a token budget per step.

    Decodes go first, so that they never wait for a prompt; what is left of the budget reads prompts, in
    chunks if need be. A prompt's blocks are reserved when it is admitted, so only decodes can run short of
    them. Then the sequence that is last in order gives up its blocks and is recomputed later. The one that
    is first in order always makes progress, because the pool holds at least one sequence of full length.

    Where ``last_arrival`` is set, requests that arrived after that one stay in the queue.
    """

    def __init__(self, pool: BlockPool, *, max_num_seqs: int, max_num_batched_tokens: int) -> None:
        self.pool = pool
        self.max_num_seqs = max_num_seqs
        self.max_num_batched_tokens = max_num_batched_tokens
        self.running: list[Sequence] = []
        self._waiting: list[tuple[tuple[int, int, int], Sequence]] = []
        self.smallest_budget = min(max_num_batched_tokens, 64)
        self.last_arrival: int | None = None
        self.preemptions = 0
        self.prefix_queries = 0
        self.prefix_hits = 0

    @property
    def num_waiting(self) -> int:
        return len(self._waiting)

    @property
    def has_work(self) -> bool:
        return bool(self.running or self._waiting)

    def add(self, sequence: Sequence) -> None:
        sequence.status = Status.WAITING
        heapq.heappush(self._waiting, (sequence.order, sequence))

    def remove(self, sequences: set[Sequence]) -> None:
        """Take sequences out wherever they are and free their blocks; their status becomes FINISHED."""
        if any(sequence.status is Status.WAITING for sequence in sequences):
            self._waiting = [entry for entry in self._waiting if entry[1] not in sequences]
            heapq.heapify(self._waiting)
        if any(sequence.status is Status.RUNNING for sequence in sequences):
            self.running = [sequence for sequence in self.running if sequence not in sequences]
        for sequence in sequences:
            self._free(sequence)
            sequence.finish()

    def schedule(self) -> Step:
        """Plan the next step and reserve the blocks it writes to."""
        step = Step()
        budget = self.max_num_batched_tokens
        self.running.sort(key=_order)
        decodes = [sequence for sequence in self.running if len(sequence) - sequence.num_computed == 1]
        for sequence in decodes:
            if budget == 0:
                break
            if sequence.status is Status.RUNNING and self._reserve_or_preempt(sequence, step):
                step.scheduled.append(ScheduledSequence(sequence, sequence.num_computed, 1))
                budget -= 1
        for sequence in self.running:
            left = len(sequence) - sequence.num_computed
            if left > 1 and budget > 0:
                count = min(left, budget)
                step.scheduled.append(ScheduledSequence(sequence, sequence.num_computed, count))
                budget -= count
        if not step.preempted:
            self._admit(step, budget)
        step.scheduled.sort(key=_is_prefill)
        return step

    def complete(self, step: Step) -> None:
        """Book what a step has read. Call before new tokens are appended."""
        size = self.pool.block_size
        for item in step.scheduled:
            sequence = item.sequence
            first_full = sequence.num_computed // size
            sequence.num_computed = item.start + item.num_tokens
            if self.pool.caching and sequence.shares_blocks:
                hashes = sequence.hashes_up_to(sequence.num_computed, size)
                for number in range(first_full, len(hashes)):
                    self.pool.register(sequence.block_ids[number], hashes[number])

    def preempt(self, sequence: Sequence) -> None:
        """Send a running sequence back to the queue; all it has read is read again later."""
        self.running.remove(sequence)
        self._free(sequence)
        sequence.num_computed = 0
        sequence.shares_blocks = True
        self.preemptions += 1
        self.add(sequence)

    def forget_prefixes(self) -> None:
        """Offer no cached block to anyone any more, those that running sequences fill up included."""
        self.pool.forget_all()
        for sequence in self.running:
            sequence.shares_blocks = False

    def shrink(self) -> None:
        """Halve the tokens and the sequences of a step, after one was too large for the device's memory."""
        self.max_num_batched_tokens = max(self.max_num_batched_tokens // 2, self.smallest_budget)
        self.max_num_seqs = max(self.max_num_seqs // 2, 1)

    def _reserve_or_preempt(self, sequence: Sequence, step: Step) -> bool:
        # Only decodes come here, in order, and the victim is the last in order: never one that is already
        # part of the step.
        while not self._reserve(sequence):
            victim = self.running[-1]
            self.preempt(victim)
            step.preempted += 1
            if victim is sequence:
                return False
        return True

    def _reserve(self, sequence: Sequence) -> bool:
        missing = self.pool.blocks_for(len(sequence)) - len(sequence.block_ids)
        if missing <= 0:
            return True
        blocks = self.pool.allocate(missing)
        if blocks is None:
            return False
        sequence.block_ids.extend(blocks)
        return True

    def _admit(self, step: Step, budget: int) -> None:
        held_back = []
        while self._waiting and budget > 0 and len(self.running) < self.max_num_seqs:
            sequence = self._waiting[0][1]
            if self._is_too_late(sequence) or self._waits_for_first_choice(sequence):
                held_back.append(heapq.heappop(self._waiting))
                continue
            cached = self._cached_blocks(sequence)
            # Blocks for the whole prompt, though only a chunk of it may be read now: with less, sequences
            # would push each other out half-way.
            missing = self.pool.blocks_for(len(sequence)) - len(cached)
            if missing > self.pool.num_free - sum(self.pool.is_free(block) for block in cached):
                break
            heapq.heappop(self._waiting)
            for block in cached:
                self.pool.reference(block)
            sequence.block_ids = cached
            sequence.num_computed = len(cached) * self.pool.block_size
            self.prefix_queries += len(sequence)
            self.prefix_hits += sequence.num_computed
            if sequence.queue_seconds is None:
                sequence.queue_seconds = time.monotonic() - sequence.request.submitted_at
            if sequence.cached_tokens is None:
                sequence.cached_tokens = sequence.num_computed
            self._reserve(sequence)
            count = min(len(sequence) - sequence.num_computed, budget)
            sequence.status = Status.RUNNING
            self.running.append(sequence)
            step.scheduled.append(ScheduledSequence(sequence, sequence.num_computed, count))
            budget -= count
        for entry in held_back:
            heapq.heappush(self._waiting, entry)

    def _is_too_late(self, sequence: Sequence) -> bool:
        return self.last_arrival is not None and sequence.request.arrival > self.last_arrival

    def _waits_for_first_choice(self, sequence: Sequence) -> bool:
        # The other choices share the first one's prompt blocks, once those are filled.
        first = sequence.request.sequences[0]
        if sequence is first or not self.pool.caching or first.status is Status.FINISHED:
            return False
        return first.num_computed < first.prompt_length and first.num_output == 0

    def _cached_blocks(self, sequence: Sequence) -> list[int]:
        if not self.pool.caching or sequence.wants_prompt_logprobs or sequence.wants_prompt_scores:
            return []
        blocks: list[int] = []
        # The last token is always read, since the step must yield logits.
        for block_hash in sequence.hashes_up_to(len(sequence) - 1, self.pool.block_size):
            block = self.pool.find(block_hash)
            if block is None:
                break
            blocks.append(block)
        return blocks

    def _free(self, sequence: Sequence) -> None:
        self.pool.release(sequence.block_ids)
        sequence.block_ids = []


def _order(sequence: Sequence) -> tuple[int, int, int]:
    return sequence.order


def _is_prefill(item: ScheduledSequence) -> bool:
    return item.num_tokens > 1 or item.start == 0
