"""Decides what kind of thing MODEL is and asks the file of that kind."""

from __future__ import annotations

import re
from pathlib import Path

from dragoman.hub.directory import read_directory
from dragoman.hub.files import ModelFiles, ModelNotFoundError

HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*\Z")


def resolve(
    model: str,
    *,
    weights: bool = False,
    revision: str | None = None,
    tokenizer: str | None = None,
    tokenizer_revision: str | None = None,
) -> ModelFiles:
    """The files of `model`: a directory, a GGUF file, a packaged name such as `smollm2`, or a hub id.

    With `weights`, the weights are looked for (and fetched from the hub) too. `tokenizer` names another
    model whose tokenizer, template and special tokens are taken instead. Raises ModelNotFoundError.
    """
    files = _resolve(model, weights=weights, revision=revision)
    if tokenizer is None or tokenizer == model:
        return files
    other = _resolve(tokenizer, weights=False, revision=tokenizer_revision)
    return ModelFiles(
        name=model,
        tokenizer_json=other.tokenizer_json,
        config=files.config,
        tokenizer_config=other.tokenizer_config,
        generation_config=files.generation_config,
        chat_template=other.chat_template,
        special_tokens=other.special_tokens,
        weights=files.weights,
    )


def _resolve(model: str, *, weights: bool, revision: str | None) -> ModelFiles:
    path = Path(model).expanduser()
    if path.is_dir():
        return read_directory(path, name=model, weights=path if weights else None)
    if path.is_file():
        return _gguf(path, model, weights=weights)

    # Late imports: a server on a directory needs none of these.
    from dragoman.hub.packaged import PACKAGED, find_packaged

    if model in PACKAGED:
        return _gguf(find_packaged(model), model, weights=weights)
    if HUB_ID.match(model) and not model.endswith(".gguf"):
        from dragoman.hub.hub_id import download

        directory = download(model, revision=revision, weights=weights)
        return read_directory(directory, name=model, weights=directory if weights else None)
    names = ", ".join(sorted(PACKAGED))
    raise ModelNotFoundError(
        f"there is no model {model!r}: MODEL is a directory, a GGUF file, a hub id such as owner/name, "
        f"or one of the packaged models ({names})"
    )


def _gguf(path: Path, name: str, *, weights: bool) -> ModelFiles:
    if path.suffix != ".gguf":
        raise ModelNotFoundError(f"{path} is not a GGUF file; give the directory that holds the model")
    from dragoman.hub.gguf_model import converted_directory

    return read_directory(converted_directory(path), name=name, weights=path if weights else None)
