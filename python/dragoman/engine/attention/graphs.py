"""Decode steps of fixed shapes, so that a GPU replays each from one captured graph.

A decoding step of a small model is hundreds of kernels of a few microseconds, which the host cannot start as
fast as the device runs them. A captured graph starts them all at once, but its shapes and addresses are
fixed. So a step is padded up to the next batch size and the next context width of two ladders, and its
inputs are copied into buffers that stay where they are.

Attention inside the graph is torch's scaled dot product over the gathered blocks of the padded width, with a
mask that the device makes from the positions. torch's variable-length kernel reads paged caches in place,
but has no version for CPUs: this way the arithmetic and the padding are those that the tests run.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from dragoman.engine.attention.batch import DecodeGroup, ForwardBatch, length_mask
from dragoman.engine.attention.paged import PagedAttention
from dragoman.engine.models.blocks import Decoder
from dragoman.engine.scheduler import ScheduledSequence

FINE_BATCHES = (1, 2, 4, 8)
BATCH_STRIDE = 8
SMALLEST_WIDTH = 16
"""Blocks per sequence of the narrowest graph; each next one is twice as wide."""

Replay = Callable[[], None]
Record = Callable[[Replay], Replay]


def capture() -> Record:
    """Records CUDA graphs that share one pool of memory, since no two of them run at a time."""
    pool = torch.cuda.graph_pool_handle()

    def record(work: Replay) -> Replay:
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            # The first run chooses algorithms and allocates their workspaces, which a capture must not do.
            work()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        # Other threads may use the device meanwhile, to load weights for instance.
        with torch.cuda.graph(graph, pool=pool, capture_error_mode="thread_local"):
            work()
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
    """One graph: its input buffers, and how to run it."""

    def __init__(self, batch: int, width: int, scratch: int, device: torch.device) -> None:
        pinned = device.type == "cuda"
        # Per row: token id, position, then the block table.
        self.host = torch.zeros((batch, 2 + width), dtype=torch.long, pin_memory=pinned)
        self.host[:, 2:] = scratch
        self.inputs = self.host.to(device, copy=True)
        self.used = 0
        self.replay: Replay | None = None


class DecodeGraphs:
    """Logits of decoding steps. A shape is recorded when it is first needed.

    ``record`` turns a piece of work on fixed buffers into a call that repeats it: :func:`capture` on a GPU.
    """

    def __init__(self, model: Decoder, attention: PagedAttention, max_num_seqs: int, record: Record) -> None:
        self._model = model
        self._attention = attention
        self._record = record
        self._shapes: dict[tuple[int, int], _Shape] = {}
        # One buffer for all shapes: with one each, wide vocabularies would take gigabytes.
        self._logits = torch.empty(
            (pad_batch(max_num_seqs), model.config.vocab_size), dtype=model.dtype, device=model.device
        )

    @property
    def num_recorded(self) -> int:
        return len(self._shapes)

    def logits(self, items: list[ScheduledSequence]) -> Tensor:
        """Logits ``[sequences, vocabulary]`` of the next tokens; valid until the next call.

        Every item reads exactly one token.
        """
        block_size = self._attention.block_size
        widths = [item.start // block_size + 1 for item in items]
        shape = self._shape(pad_batch(len(items)), pad_width(max(widths)))
        self._fill(shape, items, widths)
        if shape.replay is None:
            shape.replay = self._record(lambda: self._forward(shape.inputs))
        shape.replay()
        return self._logits[: len(items)]

    def _shape(self, batch: int, width: int) -> _Shape:
        shape = self._shapes.get((batch, width))
        if shape is None:
            shape = _Shape(batch, width, self._attention.scratch_block, self._model.device)
            self._shapes[batch, width] = shape
        return shape

    def _fill(self, shape: _Shape, items: list[ScheduledSequence], widths: list[int]) -> None:
        """Put a step into the buffers. Rows and blocks that it does not fill name the scratch block."""
        scratch = self._attention.scratch_block
        padding = shape.host.shape[1] - 2
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
        # The step before has been sampled from, so nothing reads these buffers any more.
        shape.host[: len(rows)] = torch.tensor(rows)
        shape.inputs.copy_(shape.host, non_blocking=True)
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
