"""A hub id such as `HuggingFaceTB/SmolLM2-135M-Instruct`: fetched with huggingface_hub."""

from __future__ import annotations

from pathlib import Path

from dragoman.hub.files import ModelNotFoundError

SETTINGS = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "chat_template.jinja",
    "chat_template.json",
    "config.json",
    "generation_config.json",
)
WEIGHTS = ("*.safetensors", "*.safetensors.index.json")


def download(model: str, *, revision: str | None, weights: bool) -> Path:
    """The local snapshot of a hub repository: tokenizer and config files only, unless `weights`.

    The files that were fetched before are used as they are when the hub cannot be reached. Progress bars
    are huggingface_hub's. Raises ModelNotFoundError.
    """
    # Imported here: it takes longer to import than a server on local files takes to start.
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    patterns = list(SETTINGS + WEIGHTS if weights else SETTINGS)
    try:
        return Path(snapshot_download(model, revision=revision, allow_patterns=patterns))
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        at = f" at revision {revision!r}" if revision else ""
        raise ModelNotFoundError(f"the hub gave no model {model!r}{at}: {error}") from error
