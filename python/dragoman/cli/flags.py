"""The flags that `launch render` and `serve` share. Names and meanings are vLLM's."""

from __future__ import annotations

import argparse
import dataclasses
import os

from dragoman.cli.values import context_length, effort_map, human_integer, json_object, port
from dragoman.config import Bounds

LOG_LEVELS = ("critical", "error", "warning", "info", "debug", "trace")


def add_model_flags(parser: argparse.ArgumentParser) -> None:
    """What is served: the fields of `dragoman.model.ModelOptions`."""
    parser.add_argument(
        "model", metavar="MODEL", help="a directory, a GGUF file, a hub id, or a packaged name (smollm2)"
    )
    group = parser.add_argument_group("model")
    group.add_argument("--revision", help="branch, tag or commit of the hub repository")
    group.add_argument("--tokenizer", metavar="MODEL", help="take tokenizer and template from another model")
    group.add_argument("--tokenizer-revision", metavar="REVISION", help="--revision of the --tokenizer")
    group.add_argument("--served-model-name", nargs="+", metavar="NAME", default=[], help="names in requests")
    group.add_argument("--max-model-len", type=context_length, metavar="N", help="context: 4096, 32k, auto")
    group.add_argument("--max-logprobs", type=int, default=20, metavar="N", help="most logprobs per token")
    group.add_argument("--hf-overrides", type=json_object, default={}, metavar="JSON")
    group.add_argument("--generation-config", default="auto", help="auto, vllm, or a directory")
    group.add_argument("--override-generation-config", type=json_object, default={}, metavar="JSON")
    group = parser.add_argument_group("chat")
    group.add_argument("--chat-template", metavar="FILE", help="a template, or a file that holds one")
    group.add_argument("--chat-template-content-format", choices=("auto", "string", "openai"), default="auto")
    group.add_argument("--template-engine", choices=("auto", "minijinja", "jinja2"), default="auto")
    group.add_argument("--default-chat-template-kwargs", type=json_object, default={}, metavar="JSON")
    group.add_argument("--trust-request-chat-template", action="store_true", help="from anyone")
    group.add_argument(
        "--reasoning-effort-map",
        type=effort_map,
        default={},
        metavar="JSON",
        help='what the template gets for a reasoning_effort: {"xhigh": "high"}',
    )
    group.add_argument("--tool-call-parser", metavar="NAME", help="vLLM's name, auto, or none")
    group.add_argument("--reasoning-parser", metavar="NAME", help="vLLM's name, auto, or none")
    group.add_argument("--enable-auto-tool-choice", action="store_true")


def add_server_flags(parser: argparse.ArgumentParser) -> None:
    """Where and to whom it is served."""
    group = parser.add_argument_group("server")
    group.add_argument("--host", default="0.0.0.0")
    group.add_argument("--port", type=port, default=8000, help="0 takes a free one; the address is printed")
    group.add_argument("--uds", metavar="PATH", help="a Unix socket instead of host and port")
    group.add_argument("--root-path", default="", metavar="PATH", help="prefix that a proxy takes off")
    group.add_argument("--api-key", nargs="+", default=[], metavar="KEY", help="also VLLM_API_KEY")
    group.add_argument(
        "--stream-state-key",
        metavar="KEY",
        help="a secret that all replicas share, so that each reads the others' stream_state; random by default; also "
        "DRAGOMAN_STREAM_STATE_KEY",
    )
    group.add_argument("--ssl-keyfile", metavar="FILE")
    group.add_argument("--ssl-certfile", metavar="FILE")
    group.add_argument(
        "--timeout-keep-alive",
        type=int,
        default=5,
        metavar="S",
        help="seconds a connection waits for its next request",
    )
    group.add_argument(
        "--timeout-request",
        type=float,
        default=60,
        metavar="S",
        help="seconds for a head to arrive, and for its body",
    )
    group.add_argument(
        "--h11-max-incomplete-event-size",
        type=human_integer,
        default=64 * 1024,
        metavar="N",
        help="bytes of a request's head: 64K",
    )
    group.add_argument(
        "--h11-max-header-count", type=int, default=256, metavar="N", help="headers of a request"
    )
    group.add_argument("--log-level", choices=LOG_LEVELS, default="info")
    group.add_argument("--enable-log-requests", action="store_true", help="log the bodies that come in")
    group.add_argument("--max-log-len", type=human_integer, metavar="N", help="characters of a logged body")
    group.add_argument("--enable-scale-out", action="store_true", help="expose render, generate and derender")


def add_bounds_flags(parser: argparse.ArgumentParser) -> None:
    """The limits on a request: fields of `dragoman.config.Bounds`."""
    group = parser.add_argument_group("limits on a request")
    for field in dataclasses.fields(Bounds):
        flag = f"--max-{field.name.replace('_', '-')}"
        group.add_argument(
            flag, type=human_integer, default=field.default, metavar="N", help=LIMITS[field.name]
        )


LIMITS = {
    "body_bytes": "bytes of a body: 32M",
    "json_depth": "nesting of arrays and objects",
    "messages": "messages of a conversation",
    "tools": "tools of a request",
    "prompts": "prompts of a completions request",
    "choices": "sequences of a derender request",
    "state_bytes": "bytes of a stream state",
    "string_bytes": "bytes of a name, an id, or all stop strings",
    "template_steps": "steps of a template run",
    "template_bytes": "bytes that a template run may make",
    "template_milliseconds": "time of a template run",
}


def add_engine_flags(parser: argparse.ArgumentParser) -> None:
    """The engine: fields of `dragoman.engine.EngineConfig`."""
    group = parser.add_argument_group("engine")
    group.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    group.add_argument("--dtype", choices=("auto", "bfloat16", "float16", "float32"), default="auto")
    group.add_argument("--max-num-seqs", type=int, metavar="N", help="most sequences in one step")
    group.add_argument("--max-num-batched-tokens", type=human_integer, metavar="N", help="tokens in one step")
    group.add_argument("--max-num-queued-reqs", type=int, metavar="N", help="most choices that run or wait")
    group.add_argument("--cpu-threads", type=int, metavar="N", help="of torch; at most one per core")
    group.add_argument("--block-size", type=int, metavar="N", help="tokens in a block of the KV cache")
    group.add_argument("--kv-cache-memory-bytes", type=human_integer, metavar="N")
    group.add_argument("--gpu-memory-utilization", type=float, metavar="SHARE")
    group.add_argument("--enable-prefix-caching", action=argparse.BooleanOptionalAction, default=None)
    group.add_argument("--enforce-eager", action="store_true", default=None)
    group.add_argument("--seed", type=int, metavar="N")
    group.add_argument("--enable-prompt-tokens-details", action="store_true", help="count cached tokens")


MODEL_FIELDS = (
    "model",
    "revision",
    "tokenizer",
    "tokenizer_revision",
    "max_model_len",
    "max_logprobs",
    "chat_template",
    "chat_template_content_format",
    "template_engine",
    "default_chat_template_kwargs",
    "trust_request_chat_template",
    "reasoning_effort_map",
    "generation_config",
    "override_generation_config",
    "hf_overrides",
    "tool_call_parser",
    "reasoning_parser",
    "enable_auto_tool_choice",
)
ENGINE_FIELDS = (
    "device",
    "dtype",
    "max_num_seqs",
    "max_num_batched_tokens",
    "max_num_queued_reqs",
    "cpu_threads",
    "block_size",
    "kv_cache_memory_bytes",
    "gpu_memory_utilization",
    "enable_prefix_caching",
    "enforce_eager",
    "seed",
)


def api_keys(flags: list[str]) -> tuple[str, ...]:
    """The keys of --api-key, else the one of VLLM_API_KEY."""
    keys = flags or [os.environ.get("VLLM_API_KEY", "")]
    return tuple(key for key in keys if key)


def stream_state_key(flag: str | None) -> str | None:
    """The key of --stream-state-key, else the one of DRAGOMAN_STREAM_STATE_KEY."""
    return flag or os.environ.get("DRAGOMAN_STREAM_STATE_KEY") or None
