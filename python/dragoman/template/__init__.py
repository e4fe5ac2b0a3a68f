"""Chat templates with the semantics of HF transformers."""

from dragoman.template.chat_template import ChatTemplate, Engine, Rendered

__all__ = ["ChatTemplate", "Engine", "Rendered"]
