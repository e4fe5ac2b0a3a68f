"""Weights and configuration from a directory of safetensors files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from dragoman.engine.errors import UnsupportedModelError

INDEX = "model.safetensors.index.json"
TEXT_PREFIXES = ("", "language_model.", "model.language_model.")


class SafetensorsDirectory:
    """An opened model directory: ``config.json``, and one or several safetensors files.

    Where there is an index, it and the files it names must agree: a weight that only one of them knows would
    otherwise be left out in silence.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._config = _read_json(directory / "config.json")
        self._open: dict[str, Any] = {}
        self._source = directory
        self._file_of = self._index()

    def config(self) -> dict[str, Any]:
        """The text model's configuration."""
        text = self._config.get("text_config")
        return {**self._config, **text} if isinstance(text, dict) else self._config

    def eos_token_ids(self) -> tuple[int, ...]:
        """End-of-sequence ids of the configuration and of the generation configuration."""
        found: dict[int, None] = {}
        sources = [self.config()]
        generation = self._directory / "generation_config.json"
        if generation.is_file():
            sources.append(_read_json(generation))
        for source in sources:
            value = source.get("eos_token_id")
            ids = value if isinstance(value, list) else [] if value is None else [value]
            found.update(dict.fromkeys(int(token) for token in ids))
        return tuple(found)

    def holds(self, name: str) -> bool:
        return any(full in self._file_of for full in _spellings(name))

    def read(self, name: str) -> Tensor | None:
        """A weight as stored; ``None`` where it is absent. Text models inside larger ones are found too."""
        for full in _spellings(name):
            file = self._file_of.get(full)
            if file is not None:
                return self._opened(file).get_tensor(full)  # type: ignore[no-any-return]
        return None

    def lacks(self, name: str) -> UnsupportedModelError:
        """What to raise where a weight that the model needs is in no file."""
        return UnsupportedModelError(f"{self._source} lacks {name}")

    def close(self) -> None:
        """Let go of the files."""
        self._open.clear()

    def _opened(self, file: str) -> Any:
        if file not in self._open:
            try:
                self._open[file] = safe_open(self._directory / file, framework="pt")
            except (SafetensorError, OSError) as error:
                raise UnsupportedModelError(
                    f"{self._directory / file} is not a readable safetensors file: {error}"
                ) from error
        return self._open[file]

    def _index(self) -> dict[str, str]:
        index = self._directory / INDEX
        if index.is_file():
            self._source = index
            return self._listed(index)
        files = sorted(path.name for path in self._directory.glob("*.safetensors"))
        if not files:
            raise UnsupportedModelError(f"{self._directory} holds no safetensors file")
        self._source = self._directory / files[0] if len(files) == 1 else self._directory
        return {name: file for file in files for name in self._opened(file).keys()}  # noqa: SIM118

    def _listed(self, index: Path) -> dict[str, str]:
        listed = _read_json(index).get("weight_map")
        if not isinstance(listed, dict) or not all(isinstance(file, str) for file in listed.values()):
            raise UnsupportedModelError(f"{index} has no weight_map from names to files")
        held = {name: file for file in set(listed.values()) for name in self._opened(file).keys()}  # noqa: SIM118
        for name in sorted(held.keys() | listed.keys()):
            if name not in listed:
                raise UnsupportedModelError(
                    f"{index} does not list {name}, which {self._directory / held[name]} holds"
                )
            if held.get(name) != listed[name]:
                raise UnsupportedModelError(
                    f"{self._directory / listed[name]} lacks {name}, which {index} says it holds"
                )
        return listed


class SafetensorsWeights:
    """A :class:`WeightSource` over a model directory. ``norm_offset`` is added to norm weights."""

    def __init__(
        self, directory: SafetensorsDirectory, device: torch.device, dtype: torch.dtype, *, norm_offset: float
    ) -> None:
        self._directory = directory
        self._device = device
        self._dtype = dtype
        self._norm_offset = norm_offset

    def get(self, name: str) -> Tensor:
        weight = self.find(name)
        if weight is None:
            raise self._directory.lacks(name)
        return weight

    def find(self, name: str) -> Tensor | None:
        weight = self._directory.read(name)
        return None if weight is None else weight.to(self._device, self._dtype)

    def norm(self, name: str) -> Tensor:
        if not self._norm_offset:
            return self.get(name)
        weight = self._directory.read(name)
        if weight is None:
            raise self._directory.lacks(name)
        # Kept in float32: the sum has more digits than bf16 holds.
        return weight.to(self._device, torch.float32) + self._norm_offset

    def rope_factors(self) -> Tensor | None:
        return None


def _spellings(name: str) -> list[str]:
    """How a weight of a text model is named there, and inside larger models."""
    return [
        f"{prefix}{name.removeprefix('model.')}" if prefix.startswith("model.") else prefix + name
        for prefix in TEXT_PREFIXES
    ]


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UnsupportedModelError(f"{path} cannot be read as JSON: {error}") from error
    if not isinstance(value, dict):
        raise UnsupportedModelError(f"{path} does not hold a JSON object")
    return value
