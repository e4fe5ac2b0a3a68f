"""SmolLM2-135M-Instruct as a directory of safetensors, for references that read no GGUF."""

from __future__ import annotations

from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from dragoman.hub.packaged import find_packaged


def write_directory(folder: Path) -> None:
    """Writes the packaged model's tokenizer, configuration and weights, de-quantised to bfloat16.

    Transformers needs the package `accelerate` for it.
    """
    path = find_packaged("smollm2")
    source = {"pretrained_model_name_or_path": str(path.parent), "gguf_file": path.name}
    AutoTokenizer.from_pretrained(**source).save_pretrained(folder)
    read = AutoModelForCausalLM.from_pretrained(**source, dtype=torch.bfloat16)
    # What is read from a quantised file refuses to be saved: its weights go into a model that knows of no file.
    config = read.config
    del config.quantization_config
    plain = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    plain.load_state_dict(read.state_dict())
    plain.save_pretrained(folder)
