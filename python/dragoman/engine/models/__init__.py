"""The architectures the engine runs: a file each, and this list."""

from __future__ import annotations

from dragoman.engine.errors import UnsupportedModelError
from dragoman.engine.models import gemma3, llama, mistral, olmo2, phi3, qwen2, qwen3, smollm3
from dragoman.engine.models.family import Family

FAMILIES: tuple[Family, ...] = (
    llama.FAMILY,
    mistral.FAMILY,
    qwen2.FAMILY,
    qwen3.FAMILY,
    gemma3.FAMILY,
    phi3.FAMILY,
    smollm3.FAMILY,
    olmo2.FAMILY,
)


def family_of(model_type: str) -> Family:
    """The family that ``config.json`` names as ``model_type``."""
    for family in FAMILIES:
        if model_type in family.model_types:
            return family
    known = ", ".join(sorted(name for family in FAMILIES for name in family.model_types))
    raise UnsupportedModelError(f"model type {model_type!r} is not supported; supported are: {known}")


def family_of_gguf(architecture: str) -> Family:
    """The family that a GGUF file names as ``general.architecture``."""
    for family in FAMILIES:
        if architecture in family.gguf_names:
            return family
    known = ", ".join(sorted(name for family in FAMILIES for name in family.gguf_names))
    raise UnsupportedModelError(
        f"GGUF architecture {architecture!r} is not supported; supported are: {known}"
    )
