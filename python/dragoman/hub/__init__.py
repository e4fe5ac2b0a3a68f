"""MODEL -> files: directories, GGUF files, hub ids and the small models that ship in registry packages."""

from dragoman.hub.files import ModelFiles, ModelNotFoundError
from dragoman.hub.resolve import resolve

__all__ = ["ModelFiles", "ModelNotFoundError", "resolve"]
