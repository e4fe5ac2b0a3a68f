"""Runs a planned step on the device: tensors in, tokens out."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from dragoman.engine.attention.batch import (
    DecodeGroup,
    ForwardBatch,
    PrefillGroup,
    decode_mask,
    prefill_mask,
)
from dragoman.engine.attention.graphs import DecodeGraphs, Record
from dragoman.engine.attention.paged import PagedAttention
from dragoman.engine.models.blocks import Decoder
from dragoman.engine.output import TokenLogprob
from dragoman.engine.sampling.logprobs import ranked_logprobs
from dragoman.engine.sampling.masks import MaskWorkers
from dragoman.engine.sampling.prompt_scores import score_prompt
from dragoman.engine.sampling.sampler import sample
from dragoman.engine.scheduler import ScheduledSequence, Step
from dragoman.engine.sequence import Sequence
from dragoman.engine.transfer import to_device

LOGPROB_ROWS = 128
"""Prompt positions whose logits are held at once; a vocabulary row in float32 can be a megabyte."""

LENGTH_RATIO = 2
"""Decodes share one attention call while the longest context is at most this many times the shortest."""


@dataclass(slots=True)
class StepResult:
    """Per scheduled sequence that samples: its token, and log probabilities where asked for."""

    sequences: list[Sequence]
    tokens: list[int]
    logprobs: list[TokenLogprob | None]


class ModelRunner:
    """Turns steps into tokens. Knows the model, the cache tensors and the sampler; keeps no request state."""

    def __init__(
        self,
        model: Decoder,
        attention: PagedAttention,
        *,
        max_num_seqs: int = 0,
        recorder: Callable[[], Record] | None = None,
    ) -> None:
        """With ``recorder``, steps of up to ``max_num_seqs`` decodes run as :class:`DecodeGraphs`.

        It is called for each model that the runner is given.
        """
        self.model = model
        self.attention = attention
        self._windows = set(model.config.windows)
        self._masks = MaskWorkers()
        self._max_num_seqs = max_num_seqs
        self._recorder = recorder
        self._graphs = self._new_graphs()

    def replace_model(self, model: Decoder) -> None:
        """Run the next steps with another model of the same shape."""
        self.model = model
        # The old ones read the old weights, and go first, since they keep them in memory.
        self._graphs = None
        self._graphs = self._new_graphs()

    def _new_graphs(self) -> DecodeGraphs | None:
        if self._recorder is None:
            return None
        return DecodeGraphs(self.model, self.attention, self._max_num_seqs, self._recorder())

    @torch.inference_mode()
    def run(self, step: Step) -> StepResult:
        """Read the step's tokens and choose the next one of every sequence that is at its end."""
        graphs = self._graphs
        if graphs is not None and not (
            all(map(_only_decodes, step.scheduled)) and graphs.takes(step.scheduled)
        ):
            graphs = None
        scheduled = step.scheduled if graphs is not None else _order_for_attention(step.scheduled)
        sequences = [item.sequence for item in scheduled if item.samples]
        masks = self._masks.begin(sequences, self.model.config.vocab_size)
        logits = self._logits(scheduled) if graphs is None else graphs.logits(scheduled)
        if not sequences:
            return StepResult([], [], [])
        prepare = None if graphs is None else functools.partial(graphs.prepare, scheduled)
        tokens, logprobs = sample(logits, sequences, masks, prepare)
        return StepResult(sequences, tokens, logprobs)

    def _logits(self, scheduled: list[ScheduledSequence]) -> Tensor:
        """Reads the tokens; what may come behind each sequence that samples."""
        batch = self._batch(scheduled)
        hidden = self.model(batch, self.attention)
        rows: list[int] = []
        offset = 0
        for item in scheduled:
            end = offset + item.num_tokens
            if item.sequence.wants_prompt_logprobs:
                self._prompt_logprobs(item, hidden[offset:end])
            if item.sequence.wants_prompt_scores:
                score_prompt(item.sequence, item.start, hidden[offset:end], self.model.logits)
            if item.samples:
                rows.append(end - 1)
            offset = end
        if len(rows) != hidden.shape[0]:
            hidden = hidden[to_device(rows, hidden.device, torch.long)]
        return self.model.logits(hidden)

    def _prompt_logprobs(self, item: ScheduledSequence, hidden: Tensor) -> None:
        """Log probabilities of the prompt tokens that follow the positions just read."""
        sequence = item.sequence
        done = sequence.prompt_logprobs
        count = sequence.params.prompt_logprobs
        assert done is not None
        assert count is not None
        # A preempted sequence reads its prompt again: go on where the list ends.
        first = max(item.start, len(done) - 1)
        last = min(item.start + item.num_tokens, sequence.prompt_length - 1)
        for begin in range(first, last, LOGPROB_ROWS):
            end = min(begin + LOGPROB_ROWS, last)
            logits = self.model.logits(hidden[begin - item.start : end - item.start])
            wanted = logits.shape[1] if count == -1 else count
            tokens = sequence.token_ids[begin + 1 : end + 1]
            done.extend(ranked_logprobs(logits, tokens, [wanted] * len(tokens)))

    def _batch(self, scheduled: list[ScheduledSequence]) -> ForwardBatch:
        block_size = self.attention.block_size
        device = self.model.device
        token_ids: list[int] = []
        positions: list[int] = []
        slots: list[int] = []
        for item in scheduled:
            blocks = item.sequence.block_ids
            end = item.start + item.num_tokens
            token_ids.extend(item.sequence.token_ids[item.start : end])
            positions.extend(range(item.start, end))
            slots.extend(
                blocks[position // block_size] * block_size + position % block_size
                for position in range(item.start, end)
            )
        inputs = to_device([token_ids, positions, slots], device)
        batch = ForwardBatch(inputs[0], inputs[1], self.attention.write_index(inputs[2]))
        self._group_decodes(batch, scheduled)
        self._group_prefills(batch, scheduled)
        return batch

    def _group_decodes(self, batch: ForwardBatch, scheduled: list[ScheduledSequence]) -> None:
        lengths = [item.start + 1 for item in scheduled if _is_decode(item)]
        start = 0
        while start < len(lengths):
            end = start + 1
            while end < len(lengths) and lengths[end] <= LENGTH_RATIO * lengths[start]:
                end += 1
            group = lengths[start:end]
            tables = self._block_tables(scheduled[start:end])
            # One sequence alone needs no mask: its keys are cut to length instead.
            num_keys = group[0] if len(group) == 1 else tables.shape[1] * self.attention.block_size
            batch.decodes.append(
                DecodeGroup(
                    start=start,
                    count=len(group),
                    num_keys=num_keys,
                    gather=tables.view(-1),
                    masks={
                        window: decode_mask(group, num_keys, window, self.model.device, self.attention.dtype)
                        for window in self._windows
                    },
                )
            )
            start = end

    def _group_prefills(self, batch: ForwardBatch, scheduled: list[ScheduledSequence]) -> None:
        offset = 0
        position = 0
        while position < len(scheduled):
            item = scheduled[position]
            if _is_decode(item):
                offset += 1
                position += 1
                continue
            count = 1
            if item.start == 0:
                while position + count < len(scheduled) and _alike(item, scheduled[position + count]):
                    count += 1
            gather = None
            if item.start > 0:
                gather = self._block_tables([item]).view(-1)
            batch.prefills.append(
                PrefillGroup(
                    start=offset,
                    count=count,
                    length=item.num_tokens,
                    context=item.start,
                    gather=gather,
                    masks={
                        window: prefill_mask(
                            item.num_tokens, item.start, window, self.model.device, self.attention.dtype
                        )
                        for window in self._windows
                    },
                )
            )
            offset += count * item.num_tokens
            position += count

    def _block_tables(self, items: list[ScheduledSequence]) -> Tensor:
        """Block ids ``[sequences, blocks]``, as many as the longest needs, filled up with block 0."""
        block_size = self.attention.block_size
        widths = [-(-(item.start + item.num_tokens) // block_size) for item in items]
        width = max(widths)
        tables = [
            item.sequence.block_ids[:own] + [0] * (width - own)
            for item, own in zip(items, widths, strict=True)
        ]
        return to_device(tables, self.model.device)


def _only_decodes(item: ScheduledSequence) -> bool:
    sequence = item.sequence
    reads_prompt = sequence.wants_prompt_logprobs or sequence.wants_prompt_scores
    return _is_decode(item) and item.samples and not reads_prompt


def _is_decode(item: ScheduledSequence) -> bool:
    return item.num_tokens == 1


def _alike(first: ScheduledSequence, other: ScheduledSequence) -> bool:
    return other.start == 0 and other.num_tokens == first.num_tokens


def _order_for_attention(scheduled: list[ScheduledSequence]) -> list[ScheduledSequence]:
    """Decodes first, by context length; then prompts, those of one length that start at 0 together."""
    return sorted(
        scheduled,
        key=lambda item: (item.num_tokens > 1, item.start, item.num_tokens),
    )
