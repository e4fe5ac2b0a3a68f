"""What the routes work with: one object each, built from the options before the server listens."""

from __future__ import annotations

import dataclasses
import logging
import time
from typing import TYPE_CHECKING

from dragoman import _core
from dragoman.model import LoadedModel, load_model
from dragoman.progress import progress_bar
from dragoman.server.endpoint import Workers
from dragoman.server.engine_metrics import EngineCollector
from dragoman.server.metrics import Metrics
from dragoman.server.options import ServerOptions
from dragoman.server.running import RunningRequests

if TYPE_CHECKING:
    from dragoman.engine import Engine
    from dragoman.server.grammar.compiler import GrammarCompiler

LOGGER = logging.getLogger("dragoman")


@dataclasses.dataclass(frozen=True, slots=True)
class Services:
    """`engine` is None for `launch render`. `generate_config` is the core's configuration as JSON for
    `/inference/v1/generate`, which answers in ids only; `config` is the one for everything else. `grammars`
    is there where the engine is.
    """

    options: ServerOptions
    model: LoadedModel
    renderer: _core.Renderer
    derenderer: _core.Derenderer
    engine: Engine | None
    grammars: GrammarCompiler | None
    config: bytes
    generate_config: bytes
    workers: Workers
    metrics: Metrics
    running: RunningRequests
    created: int

    @property
    def served_name(self) -> str:
        """The name in answers to requests that name no model."""
        return self.model.config.served_model_names[0]


def load_services(options: ServerOptions) -> Services:
    """Loads the model, and the weights where the mode needs them. Raises what `load_model` raises."""
    with_engine = options.mode != "render"
    model = load_model(options.model, weights=with_engine, tokens_only=options.mode == "tokens-only")
    config = model.config.to_json()
    metrics = Metrics()
    metrics.template_fallback.set(model.template_engine == "jinja2")
    derenderer = model.derenderer()
    engine = _load_engine(options, model) if with_engine else None
    if engine is not None:
        metrics.registry.register(EngineCollector(lambda: engine.stats))
    # The engine's own vocabulary is the one that its prompts must keep to.
    vocab_size = engine.vocab_size if engine is not None else model.config.vocab_size
    generate_config = dataclasses.replace(model.config, tokens_only=True, vocab_size=vocab_size).to_json()
    return Services(
        options=options,
        model=model,
        renderer=model.renderer(derenderer),
        derenderer=derenderer,
        engine=engine,
        grammars=None if engine is None else _grammars(model, engine, derenderer),
        config=config,
        generate_config=generate_config,
        # A template that comes with a request may take long, however small the request is.
        workers=Workers(options.core_threads, *([0] if options.model.trust_request_chat_template else [])),
        metrics=metrics,
        running=RunningRequests(),
        created=int(time.time()),
    )


def _grammars(model: LoadedModel, engine: Engine, derenderer: _core.Derenderer) -> GrammarCompiler:
    # llguidance comes with the engine.
    from dragoman.server.grammar.compiler import GrammarCompiler

    return GrammarCompiler(
        model.files.tokenizer_json,
        vocab_size=engine.vocab_size,
        eos_token_ids=engine.eos_token_ids,
        derenderer=derenderer,
    )


def _load_engine(options: ServerOptions, model: LoadedModel) -> Engine:
    # torch takes seconds to import, so only a server with an engine does.
    from dragoman.engine import Engine, EngineConfig

    weights = model.files.weights
    if weights is None:
        raise ValueError(f"{model.files.name} was resolved without weights")
    begin = time.perf_counter()
    config = EngineConfig(
        model=weights,
        max_model_len=model.config.max_model_len,
        max_logprobs=model.config.max_logprobs,
        **options.engine,
    )
    with progress_bar(f"loading {model.files.name}") as show:
        engine = Engine(config, on_layer=show)
    LOGGER.info("loaded the weights of %s in %.1f s", model.files.name, time.perf_counter() - begin)
    return engine
