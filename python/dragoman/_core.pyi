"""The Rust core: bytes in, bytes out, with the GIL released."""

from collections.abc import Callable, Sequence
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "CorePanicError",
    "DerenderStream",
    "Derenderer",
    "Encoding",
    "Rendered",
    "Renderer",
    "RequestError",
    "StopWatch",
    "Template",
    "TemplateBudgetError",
    "Tokenizer",
    "__version__",
    "choose_parsers",
    "panic_in_core",
    "parse_generate_request",
    "request_schemas",
]

__version__: str

class RequestError(ValueError):
    """A request that cannot be served. `kind` is one of the keys of `dragoman.server.errors.STATUS`."""

    kind: str
    message: str
    param: str | None

class CorePanicError(RuntimeError):
    """A fault of the core itself: its text is the message, the place and the backtrace of a panic."""

class TemplateBudgetError(ValueError):
    """A template that takes too many steps, too long, nests too deep or makes too much text."""

@final
class Encoding:
    """Token ids (n,) and their half-open code-point ranges (n, 2) in the text."""

    @property
    def ids(self) -> NDArray[np.uint32]: ...
    @property
    def offsets(self) -> NDArray[np.uint32]: ...
    def assistant_mask(self, spans: Sequence[tuple[int, int]]) -> NDArray[np.uint8]:
        """(n,): 1 for a token that overlaps one of the code-point ranges (`Rendered.assistant_spans`), else 0."""

@final
class Tokenizer:
    @staticmethod
    def from_file(path: str) -> Tokenizer: ...
    @staticmethod
    def from_bytes(data: bytes) -> Tokenizer: ...
    @property
    def vocab_size(self) -> int: ...
    def encode(self, text: str, add_special_tokens: bool = False) -> Encoding: ...
    def decode(self, ids: Sequence[int] | NDArray[np.uint32], skip_special_tokens: bool = True) -> str: ...

@final
class Rendered:
    """A rendered chat template: the text and the code-point spans of its `{% generation %}` blocks."""

    @property
    def text(self) -> str: ...
    @property
    def assistant_spans(self) -> list[tuple[int, int]]: ...

@final
class Template:
    """A chat template with HF semantics, run by MiniJinja, or by `fallback` where that is given.

    `fallback(payload)` gets the template's input as JSON and returns the text and the spans.
    """

    def __new__(
        cls,
        source: str,
        special_tokens: bytes,
        fallback: Callable[[bytes], tuple[str, list[tuple[int, int]]]] | None = None,
    ) -> Self: ...
    @property
    def has_generation_blocks(self) -> bool: ...
    def render_json(self, payload: bytes, now: str | None = None) -> Rendered: ...

@final
class Renderer:
    """`config` is `dragoman.config.ServingConfig` as JSON."""

    def __new__(
        cls,
        tokenizer: Tokenizer,
        template: Template | None,
        config: bytes,
        compile: Callable[[str], Template] | None = None,
        derenderer: Derenderer | None = None,
    ) -> Self:
        """`compile` turns the source of a request's template into a `Template`; without it they are refused.

        `derenderer` lends its reasoning parser, which tells whether a prompt ends the reasoning.
        """

    def chat(self, body: bytes, request_id: str | None = None) -> bytes: ...
    def completions(self, body: bytes, request_id: str | None = None) -> bytes: ...
    def messages(self, body: bytes, request_id: str | None = None) -> bytes: ...
    def responses(self, body: bytes, request_id: str | None = None) -> bytes: ...
    def tokenize(self, body: bytes) -> bytes: ...
    def detokenize(self, body: bytes) -> bytes: ...

@final
class Derenderer:
    """One-shot bodies and stream chunks (`"stream": true`) alike: the body says which."""

    def __new__(cls, tokenizer: Tokenizer, config: bytes) -> Self: ...
    def chat(self, body: bytes) -> tuple[bytes, bool]:
        """The response body, and whether parsers ran over the text."""

    def completions(self, body: bytes) -> tuple[bytes, bool]: ...
    def stream(
        self, prompt_token_ids: Sequence[int], chat_request: bytes | None = None
    ) -> DerenderStream: ...
    def watch_stops(
        self, prompt_token_ids: Sequence[int], sampling_params: bytes, *, reasoning: bool = False
    ) -> StopWatch:
        """Finds the stop strings of `sampling_params` (JSON) in the output that follows a prompt.

        With `reasoning` none is found in what the reasoning parser takes for reasoning.
        """

    @property
    def has_reasoning_parser(self) -> bool: ...
    def prompt_ends_reasoning(self, token_ids: Sequence[int]) -> bool:
        """Whether the last turn of a prompt closes the reasoning, so that the answer begins at once."""

    def output_ends_reasoning(self, token_ids: Sequence[int]) -> bool:
        """Whether these ids, the last of an output, bring its reasoning to an end."""

@final
class StopWatch:
    """The stop strings of a request in one choice of it."""

    def push(self, token_ids: Sequence[int]) -> str | None:
        """Reads the next ids; the stop string that has been met, once there is one."""

    def another(self) -> StopWatch:
        """The same for another choice of the request."""

@final
class DerenderStream:
    """The deltas of one choice, as JSON objects of the chat stream's `choices[0].delta`."""

    def push(self, token_ids: Sequence[int]) -> bytes: ...
    def finish(self, finish_reason: str | None = ..., stop_reason: int | str | None = None) -> bytes: ...

def choose_parsers(model_type: str | None, template: str | None) -> tuple[str | None, str | None]:
    """The tool-call parser and the reasoning parser that fit a model, by their vLLM names.

    `model_type` is that of config.json, `template` the source of the chat template; None where nothing tells one.
    """

def parse_generate_request(body: bytes, config: bytes) -> dict[str, Any]:
    """A checked `/inference/v1/generate` body; sampling fields at their defaults may be absent.

    Keys: request_id (str | None), model, token_ids (NDArray[uint32]), sampling_params (dict), stream (bool),
    include_usage, continuous_usage_stats (bool), reasoning_ended (bool | None), return_token_ids (bool), cache_salt,
    priority,
    kv_transfer_params, ec_transfer_params.
    Raises RequestError.
    """

def panic_in_core(message: str) -> None:
    """Panics inside the core, for tests of what becomes of that: raises CorePanicError."""

def request_schemas() -> bytes:
    """JSON schemas of the requests and responses of the hot routes, for the OpenAPI page."""
