"""A model as the core needs it: the tokenizer, the template and the serving configuration, loaded once."""

from __future__ import annotations

import dataclasses
import logging
from pathlib import Path
from typing import Any, Literal

from dragoman import _core
from dragoman.config import Bounds, ServingConfig, stream_state_key
from dragoman.hub import ModelFiles, resolve
from dragoman.hub import limits as hub_limits
from dragoman.template.parity import Engine, compile_template

LOGGER = logging.getLogger("dragoman")

ContentFormat = Literal["auto", "string", "openai"]


class OptionError(ValueError):
    """An option that does not fit the model or another option. The message names it and the remedy."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """How a model is served. Names and meanings are those of vLLM's flags; None is the model's own setting.

    `chat_template` is a template or the path of a file that holds one.
    """

    model: str
    revision: str | None = None
    tokenizer: str | None = None
    tokenizer_revision: str | None = None
    served_model_names: tuple[str, ...] = ()
    max_model_len: int | None = None
    max_logprobs: int = 20
    chat_template: str | None = None
    chat_template_content_format: ContentFormat = "auto"
    template_engine: Engine = "auto"
    default_chat_template_kwargs: dict[str, Any] = dataclasses.field(default_factory=dict)
    trust_request_chat_template: bool = False
    reasoning_effort_map: dict[str, str] = dataclasses.field(default_factory=dict)
    generation_config: str = "auto"
    override_generation_config: dict[str, Any] = dataclasses.field(default_factory=dict)
    hf_overrides: dict[str, Any] = dataclasses.field(default_factory=dict)
    tool_call_parser: str | None = None
    reasoning_parser: str | None = None
    enable_auto_tool_choice: bool = False
    stream_state_key: str | None = dataclasses.field(default=None, repr=False)
    bounds: Bounds = dataclasses.field(default_factory=Bounds)


@dataclasses.dataclass(frozen=True, slots=True)
class LoadedModel:
    """`template` is None where the model has no chat template; `template_engine` renders it."""

    files: ModelFiles
    config: ServingConfig
    tokenizer: _core.Tokenizer
    template: _core.Template | None
    template_engine: Literal["minijinja", "jinja2"] | None
    options: ModelOptions

    def derenderer(self) -> _core.Derenderer:
        """The core's derenderer of this model."""
        return _core.Derenderer(self.tokenizer, self.config.to_json())

    def renderer(self, derenderer: _core.Derenderer | None = None) -> _core.Renderer:
        """The core's renderer of this model; `derenderer` tells whether a prompt ends the reasoning.

        Requests may bring templates only where that was allowed.
        """
        trusted = self.config.trust_request_chat_template
        compiled = self.compile_template if trusted else None
        return _core.Renderer(
            self.tokenizer, self.template, self.config.to_json(), compiled, derenderer or self.derenderer()
        )

    def compile_template(self, source: str) -> _core.Template:
        """The template of a request, with this model's special tokens. Raises ValueError where it is none."""
        tokens = dict(self.files.special_tokens)
        return compile_template(source, tokens, self.options.template_engine, proof_seconds=0.5)[0]


def load_model(options: ModelOptions, *, weights: bool = False, tokens_only: bool = False) -> LoadedModel:
    """Finds and reads the model. Raises ModelNotFoundError, OptionError, or ValueError for damaged files."""
    files = resolve(
        options.model,
        weights=weights,
        revision=options.revision,
        tokenizer=options.tokenizer,
        tokenizer_revision=options.tokenizer_revision,
    )
    if options.hf_overrides:
        files = dataclasses.replace(files, config={**files.config, **options.hf_overrides})
    tokenizer = _core.Tokenizer.from_file(str(files.tokenizer_json))
    source = template_source(options.chat_template) or files.chat_template
    options = choose_parsers(options, files, source)
    config = serving_config(files, options, tokenizer.vocab_size, tokens_only=tokens_only)
    template, engine = None, None
    if source is not None:
        template, engine = compile_template(source, dict(files.special_tokens), options.template_engine)
    return LoadedModel(files, config, tokenizer, template, engine, options)


def choose_parsers(options: ModelOptions, files: ModelFiles, template: str | None) -> ModelOptions:
    """The options with `auto` replaced by the parsers that fit the model, or by none."""
    if "auto" not in (options.tool_call_parser, options.reasoning_parser):
        return options
    model_type = files.config.get("model_type")
    chosen = _core.choose_parsers(model_type if isinstance(model_type, str) else None, template)
    tool, reasoning = (
        found if asked == "auto" else asked
        for asked, found in zip((options.tool_call_parser, options.reasoning_parser), chosen, strict=True)
    )
    LOGGER.info("parsers: tool calls %s, reasoning %s", tool or "none", reasoning or "none")
    return dataclasses.replace(options, tool_call_parser=tool, reasoning_parser=reasoning)


def serving_config(
    files: ModelFiles, options: ModelOptions, tokenizer_size: int, *, tokens_only: bool
) -> ServingConfig:
    """The configuration that the core gets. A tokenizer may know more ids than the model says, and the reverse."""
    generation = hub_limits.generation_config(files, options.generation_config)
    generation = {**generation, **options.override_generation_config}
    vocab_size = hub_limits.text_config(files.config).get("vocab_size")
    shared = {"stream_state_key": stream_state_key(key)} if (key := options.stream_state_key) else {}
    return ServingConfig(
        served_model_names=options.served_model_names or (options.model,),
        max_model_len=_max_model_len(files, options),
        vocab_size=max(vocab_size, tokenizer_size) if isinstance(vocab_size, int) else tokenizer_size,
        max_logprobs=options.max_logprobs,
        default_sampling=hub_limits.default_sampling(generation),
        eos_token_ids=hub_limits.eos_token_ids(files, generation),
        chat_template_content_format=options.chat_template_content_format,
        default_chat_template_kwargs=options.default_chat_template_kwargs,
        trust_request_chat_template=options.trust_request_chat_template,
        reasoning_effort_map=options.reasoning_effort_map,
        tool_call_parser=options.tool_call_parser,
        reasoning_parser=options.reasoning_parser,
        enable_auto_tool_choice=options.enable_auto_tool_choice,
        tokens_only=tokens_only,
        bounds=options.bounds,
        **shared,
    )


def _max_model_len(files: ModelFiles, options: ModelOptions) -> int:
    context = hub_limits.context_length(files)
    asked = options.max_model_len
    if asked is None or asked == -1:
        return context
    if asked < 1:
        raise OptionError(f"--max-model-len must be at least 1, or -1 for the model's own, got {asked}")
    if asked > context:
        raise OptionError(
            f"--max-model-len {asked} is more than the {context} tokens that {files.name} was made for "
            "(config.json, tokenizer_config.json); --hf-overrides changes what they say"
        )
    return asked


def template_source(chat_template: str | None) -> str | None:
    """The text of --chat-template: of the file where there is one, else the value itself."""
    if chat_template is None:
        return None
    # A template has braces or line breaks; a value without them can only be a path.
    if not any(mark in chat_template for mark in "{}\n"):
        try:
            return Path(chat_template).read_text(encoding="utf-8")
        except OSError as error:
            raise OptionError(f"--chat-template: {chat_template!r} cannot be read: {error}") from error
    return chat_template
