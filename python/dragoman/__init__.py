"""Dragoman: the interpreter between OpenAI/Anthropic JSON and engines that speak token ids.

`Renderer` turns requests into token ids, `Derenderer` turns token ids into responses; `ChatTemplate` and
`Tokenizer` are the halves of the first. Names are imported when they are first used, so that
`import dragoman` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dragoman._core import Encoding, RequestError, Tokenizer, __version__
    from dragoman.derenderer import Derenderer, DerenderStream
    from dragoman.renderer import Renderer
    from dragoman.template import ChatTemplate, Rendered

__all__ = [
    "ChatTemplate",
    "DerenderStream",
    "Derenderer",
    "Encoding",
    "Rendered",
    "Renderer",
    "RequestError",
    "Tokenizer",
    "__version__",
]

_HOMES = {
    "ChatTemplate": "dragoman.template",
    "DerenderStream": "dragoman.derenderer",
    "Derenderer": "dragoman.derenderer",
    "Encoding": "dragoman._core",
    "Rendered": "dragoman.template",
    "Renderer": "dragoman.renderer",
    "RequestError": "dragoman._core",
    "Tokenizer": "dragoman._core",
    "__version__": "dragoman._core",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(home), name)
    globals()[name] = value
    return value
