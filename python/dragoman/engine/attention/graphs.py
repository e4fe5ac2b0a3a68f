"""Decode steps of fixed shapes, so that a GPU replays each from one captured graph.

A decoding step of a small model is hundreds of kernels of a few microseconds, which the host cannot start as
fast as the device runs them. A captured graph starts them all at once, but its shapes and addresses are
fixed. So a step is padded up to the next batch size and the next context width of two ladders, and its
inputs are copied into buffers that stay where they are. The next step's are put there by the device itself,
straight from the ids it chose, while the host still waits for them.

Attention inside the graph is torch's scaled dot product over the gathered blocks of the padded width, with a
mask that the device makes from the positions. torch's variable-length kernel reads paged caches in place,
but has no version for CPUs: this way the arithmetic and the padding are those that the tests run.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from dragoman.engine.attention.batch import DecodeGroup, ForwardBatch, length_mask
from dragoman.engine.attention.paged import PagedAttention
from dragoman.engine.models.blocks import Decoder
from dragoman.engine.scheduler import ScheduledSequence
from dragoman.engine.transfer import to_device

log = logging.getLogger(__name__)

FINE_BATCHES = (1, 2, 4, 8)
BATCH_STRIDE = 8
SMALLEST_WIDTH = 16
"""Blocks per sequence of the narrowest graph; each next one is twice as wide."""

Replay = Callable[[], None]
Record = Callable[[Replay], Replay]


@functools.cache
def _capture_stream() -> torch.cuda.Stream:
    """One for all graphs: cuBLAS keeps a workspace of up to 32 MiB for every stream that it has run on."""
    return torch.cuda.Stream()  # type: ignore[no-untyped-call]


def capture() -> Record:
    """Records CUDA graphs that share one pool of memory, since no two of them run at a time.

    Graphs of other weights need another recorder: torch refuses a pool whose graphs are all gone.
    """
    # That of the first graph, and only once it is captured, for the same reason.
    pool = None
    stream = _capture_stream()

    def record(work: Replay) -> Replay:
        nonlocal pool
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            # The first run chooses algorithms and allocates their workspaces, which a capture must not do,
            # so it runs on the stream that is captured.
            work()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        # Other threads may use the device meanwhile, to load weights for instance.
        with torch.cuda.graph(graph, pool=pool, stream=stream, capture_error_mode="thread_local"):
            work()
        pool = graph.pool()
        return graph.replay

    return record


def pad_batch(count: int) -> int:
    """The batch size that ``count`` sequences run at."""
    for size in FINE_BATCHES:
        if count <= size:
            return size
    return -(-count // BATCH_STRIDE) * BATCH_STRIDE


def pad_width(blocks: int) -> int:
    """The blocks per sequence that a longest context of ``blocks`` blocks runs at."""
    width = SMALLEST_WIDTH
    while width < blocks:
        width *= 2
    return width


class _Shape:
    """One graph: its input buffer, and how to run it."""

    def __init__(self, batch: int, width: int, scratch: int, device: torch.device) -> None:
        # Per row: token id, position, then the block table.
        self.inputs = torch.zeros((batch, 2 + width), dtype=torch.long, device=device)
        self.inputs[:, 2:] = scratch
        self.used = 0
        self.replay: Replay | None = None


@dataclass(slots=True)
class _Prepared:
    """The inputs of the step after one, in ``shape``'s buffer: right if the same sequences go on.

    ``tables`` are the sequences' own lists of blocks. A sequence that lost its blocks gets another list, so
    what the buffer names is still theirs where the list is the same one. ``positions`` are those to come.
    """

    shape: _Shape
    tables: list[list[int]]
    positions: list[int]

    def suits(self, shape: _Shape, items: list[ScheduledSequence]) -> bool:
        return (
            shape is self.shape
            and len(items) == len(self.tables)
            and all(
                item.sequence.block_ids is table and item.start == position
                for item, table, position in zip(items, self.tables, self.positions, strict=True)
            )
        )


class DecodeGraphs:
    """Logits of decoding steps. A shape is recorded when it is first needed.

    ``record`` turns a piece of work on fixed buffers into a call that repeats it: :func:`capture` on a GPU.
    While the device works on a step, :meth:`prepare` queues what the next one will most likely read.
    """

    def __init__(self, model: Decoder, attention: PagedAttention, max_num_seqs: int, record: Record) -> None:
        self._model = model
        self._attention = attention
        self._record = record
        self._shapes: dict[tuple[int, int], _Shape] = {}
        self._prepared: _Prepared | None = None
        self._most = pad_batch(max_num_seqs)
        # One buffer for all shapes: with one each, wide vocabularies would take gigabytes.
        self._logits = torch.empty(
            (self._most, model.config.vocab_size), dtype=model.dtype, device=model.device
        )

    def takes(self, items: list[ScheduledSequence]) -> bool:
        """Whether these, padded to the longest of them, fit the memory that attention gathers blocks in."""
        batch, width = self._padded(items)
        return batch * width <= self._attention.most_gathered

    def logits(self, items: list[ScheduledSequence]) -> Tensor:
        """Logits ``[sequences, vocabulary]`` of the next tokens; valid until the next call.

        Every item reads exactly one token.
        """
        if not self._shapes and self._most * SMALLEST_WIDTH <= self._attention.most_gathered:
            # The largest batch first: the graphs share their memory, and what it leaves is enough for all.
            self._recorded(self._shape(self._most, SMALLEST_WIDTH))
        shape = self._shape(*self._padded(items))
        prepared, self._prepared = self._prepared, None
        if prepared is not None and prepared.suits(shape, items):
            self._add_blocks(shape, items)
        else:
            self._fill(shape, items)
        self._recorded(shape)()
        return self._logits[: len(items)]

    def prepare(self, items: list[ScheduledSequence], chosen: Tensor) -> None:
        """Queue the inputs of the next step behind the one that just chose ``chosen`` for ``items``.

        Only the blocks that sequences grow into by then are missing: nobody has them yet.
        """
        shape = self._shape(*self._padded(items))
        shape.inputs[: len(items), 0].copy_(chosen)
        shape.inputs[: len(items), 1].add_(1)
        self._prepared = _Prepared(
            shape, [item.sequence.block_ids for item in items], [item.start + 1 for item in items]
        )

    def _padded(self, items: list[ScheduledSequence]) -> tuple[int, int]:
        longest = max(item.start for item in items)
        return pad_batch(len(items)), pad_width(longest // self._attention.block_size + 1)

    def _shape(self, batch: int, width: int) -> _Shape:
        shape = self._shapes.get((batch, width))
        if shape is None:
            shape = _Shape(batch, width, self._attention.scratch_block, self._model.device)
            self._shapes[batch, width] = shape
        return shape

    def _recorded(self, shape: _Shape) -> Replay:
        if shape.replay is None:

            def work() -> None:
                self._forward(shape.inputs)

            try:
                shape.replay = self._record(work)
            except torch.OutOfMemoryError:
                raise
            except RuntimeError:
                log.exception("a decoding step cannot be captured; its kernels are started one by one")
                shape.replay = work
        return shape.replay

    def _add_blocks(self, shape: _Shape, items: list[ScheduledSequence]) -> None:
        """Complete a prepared step: the blocks whose first position it writes."""
        size = self._attention.block_size
        new = [(row, item.start // size) for row, item in enumerate(items) if item.start % size == 0]
        if new:
            blocks = [items[row].sequence.block_ids[place] for row, place in new]
            rows, places = [row for row, _ in new], [2 + place for _, place in new]
            index = to_device([rows, places, blocks], shape.inputs.device)
            shape.inputs[index[0], index[1]] = index[2]

    def _fill(self, shape: _Shape, items: list[ScheduledSequence]) -> None:
        """Put a step into the buffers. Rows and blocks that it does not fill name the scratch block."""
        scratch = self._attention.scratch_block
        padding = shape.inputs.shape[1] - 2
        widths = [item.start // self._attention.block_size + 1 for item in items]
        rows = [
            [
                item.sequence.token_ids[item.start],
                item.start,
                *item.sequence.block_ids[:own],
                *[scratch] * (padding - own),
            ]
            for item, own in zip(items, widths, strict=True)
        ]
        rows += [[0, 0, *[scratch] * padding]] * (shape.used - len(rows))
        shape.inputs[: len(rows)].copy_(to_device(rows, shape.inputs.device))
        shape.used = len(items)

    def _forward(self, inputs: Tensor) -> None:
        """One step on the device alone: no value of it is known here."""
        attention = self._attention
        block_size = attention.block_size
        token_ids, positions, tables = inputs[:, 0], inputs[:, 1], inputs[:, 2:]
        blocks = tables.gather(1, (positions // block_size).unsqueeze(1)).squeeze(1)
        slots = blocks * block_size + positions % block_size
        num_keys = tables.shape[1] * block_size
        batch = ForwardBatch(token_ids, positions, attention.write_index(slots))
        batch.decodes.append(
            DecodeGroup(
                start=0,
                count=inputs.shape[0],
                num_keys=num_keys,
                gather=tables.reshape(-1),
                masks={
                    window: length_mask(positions + 1, num_keys, window, attention.dtype)
                    for window in set(attention.windows)
                },
            )
        )
        logits = self._model.logits(self._model(batch, attention))
        self._logits[: inputs.shape[0]].copy_(logits)
