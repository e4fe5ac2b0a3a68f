"""Chat templates with the semantics of HF transformers."""

from dragoman.template.chat_template import ChatTemplate, Rendered
from dragoman.template.parity import Engine

__all__ = ["ChatTemplate", "Engine", "Rendered"]
