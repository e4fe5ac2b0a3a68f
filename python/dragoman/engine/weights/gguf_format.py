"""The GGUF container: metadata and where the tensors lie.

The ``gguf`` package's reader makes an array per vocabulary entry, which takes seconds; this one walks over
the lists it is not asked for. Layout: github.com/ggml-org/ggml, docs/gguf.md, versions 2 and 3.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from numpy.typing import NDArray

from dragoman.engine.errors import UnsupportedModelError

MAGIC = b"GGUF"
VERSIONS = (2, 3)
DEFAULT_ALIGNMENT = 32
STRING, ARRAY = 8, 9
SCALARS = {
    0: "<B",
    1: "<b",
    2: "<H",
    3: "<h",
    4: "<I",
    5: "<i",
    6: "<f",
    7: "<?",
    10: "<Q",
    11: "<q",
    12: "<d",
}


@dataclass(frozen=True, slots=True)
class TensorEntry:
    """A tensor's place: ``shape`` slowest dimension first, ``start`` in bytes from the file's beginning."""

    name: str
    shape: tuple[int, ...]
    type: gguf.GGMLQuantizationType
    start: int
    num_bytes: int


class GGUFContainer:
    """A memory-mapped GGUF file. Lists in the metadata are left out, short ones of numbers excepted."""

    def __init__(self, path: Path) -> None:
        try:
            with path.open("rb") as file:
                self._memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            self.metadata: dict[str, Any] = {}
            self.tensors: dict[str, TensorEntry] = {}
            self._parse()
        except (OSError, ValueError, struct.error, OverflowError) as error:
            raise UnsupportedModelError(f"{path} is not a readable GGUF file: {error}") from error

    def data(self, tensor: TensorEntry) -> NDArray[np.uint8]:
        """The tensor's bytes, ``[..., bytes per row]``, not copied."""
        flat = np.frombuffer(self._memory, dtype=np.uint8, count=tensor.num_bytes, offset=tensor.start)
        return flat.reshape(*tensor.shape[:-1], -1)

    def _parse(self) -> None:
        if self._memory[:4] != MAGIC:
            raise ValueError(f"it begins with {self._memory[:4]!r}, not {MAGIC!r}")
        version, num_tensors, num_entries = struct.unpack_from("<IQQ", self._memory, 4)
        if version not in VERSIONS:
            raise ValueError(f"version {version} is not among {VERSIONS}")
        self._position = 24
        for _ in range(num_entries):
            key = self._string()
            value = self._value(self._scalar("<I"))
            if value is not None:
                self.metadata[key] = value
        entries = [self._tensor_entry() for _ in range(num_tensors)]
        alignment = int(self.metadata.get("general.alignment", DEFAULT_ALIGNMENT))
        if alignment < 1:
            raise ValueError(f"an alignment of {alignment}")
        base = -(-self._position // alignment) * alignment
        for name, shape, kind, offset in entries:
            block, size = gguf.GGML_QUANT_SIZES[kind]
            if shape[-1] % block:
                raise ValueError(f"tensor {name} has rows of {shape[-1]}, not a multiple of {block}")
            num_bytes = int(np.prod(shape, dtype=object)) // block * size
            if base + offset + num_bytes > len(self._memory):
                raise ValueError(f"tensor {name} ends past the end of the file")
            self.tensors[name] = TensorEntry(name, shape, kind, base + offset, num_bytes)

    def _tensor_entry(self) -> tuple[str, tuple[int, ...], gguf.GGMLQuantizationType, int]:
        name = self._string()
        dimensions = self._scalar("<I")
        if not 1 <= dimensions <= 4:
            raise ValueError(f"tensor {name} has {dimensions} dimensions")
        shape = tuple(self._scalar("<Q") for _ in range(dimensions))[::-1]
        kind = gguf.GGMLQuantizationType(self._scalar("<I"))
        return name, shape, kind, self._scalar("<Q")

    def _value(self, kind: int) -> Any:
        if kind in SCALARS:
            return self._scalar(SCALARS[kind])
        if kind == STRING:
            return self._string()
        if kind == ARRAY:
            return self._array()
        raise ValueError(f"metadata of type {kind}")

    def _array(self) -> Any:
        """Numbers as a list where there are few of them; everything else is walked over."""
        kind, count = struct.unpack_from("<IQ", self._memory, self._position)
        self._position += 12
        if kind in SCALARS:
            size = struct.calcsize(SCALARS[kind])
            if self._position + size * count > len(self._memory):
                raise ValueError("a list that ends past the end of the file")
            if count <= 1024:
                return [self._scalar(SCALARS[kind]) for _ in range(count)]
            self._position += size * count
            return None
        if kind == STRING:
            position, memory, unpack = self._position, self._memory, struct.Struct("<Q").unpack_from
            for _ in range(count):
                position += 8 + unpack(memory, position)[0]
            self._position = position
            return None
        raise ValueError(f"a list of type {kind}")

    def _scalar(self, form: str) -> Any:
        (value,) = struct.unpack_from(form, self._memory, self._position)
        self._position += struct.calcsize(form)
        return value

    def _string(self) -> str:
        length = self._scalar("<Q")
        if self._position + length > len(self._memory):
            raise ValueError("a string that ends past the end of the file")
        text = self._memory[self._position : self._position + length].decode("utf-8", "replace")
        self._position += length
        return text
