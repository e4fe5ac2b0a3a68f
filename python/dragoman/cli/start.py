"""From parsed flags to a running server."""

from __future__ import annotations

import argparse
import dataclasses
import logging
import sys
from typing import TYPE_CHECKING

from dragoman.cli.flags import ENGINE_FIELDS, MODEL_FIELDS, api_keys, stream_state_key
from dragoman.cli.scale_out import SwitchError, scale_out
from dragoman.cli.trainer import trainer
from dragoman.config import Bounds

if TYPE_CHECKING:
    from dragoman.model import ModelOptions
    from dragoman.server.options import Mode, ServerOptions


def start(flags: argparse.Namespace, mode: Mode, dedicated: str | None) -> int:
    """Runs the server; the exit status. `dedicated` names the mode where it is one."""
    level = "debug" if flags.log_level == "trace" else flags.log_level
    logging.basicConfig(
        level=level.upper(), stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    # The HTTP client of the hub says more than anyone asked for.
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        exposed = scale_out(flag=flags.enable_scale_out, dedicated=dedicated)
        asked = getattr(flags, "enable_trainer_endpoints", False)
        trains = trainer(flag=asked, tokens_only=mode == "tokens-only")
        options = server_options(flags, mode, exposed=exposed, trains=trains)
        from dragoman.server.connection import ConnectionLimits
        from dragoman.server.run import Binding, run

        binding = Binding(
            host=flags.host,
            port=flags.port,
            uds=flags.uds,
            ssl_keyfile=flags.ssl_keyfile,
            ssl_certfile=flags.ssl_certfile,
            log_level=flags.log_level,
            keep_alive_seconds=flags.timeout_keep_alive,
            limits=ConnectionLimits(
                head_bytes=flags.h11_max_incomplete_event_size,
                headers=flags.h11_max_header_count,
                request_seconds=flags.timeout_request,
            ),
        )
        return run(options, binding)
    except (SwitchError, ValueError) as error:
        print(f"dragoman: {error}", file=sys.stderr)
        return 2


def server_options(
    flags: argparse.Namespace, mode: Mode, *, exposed: bool, trains: bool = False
) -> ServerOptions:
    """The options that the flags say."""
    from dragoman.server.options import ServerOptions

    engine = {name: getattr(flags, name, None) for name in ENGINE_FIELDS}
    return ServerOptions(
        mode=mode,
        model=model_options(flags),
        scale_out=exposed,
        trainer=trains,
        api_keys=api_keys(flags.api_key),
        root_path=flags.root_path.rstrip("/"),
        log_requests=flags.enable_log_requests,
        max_log_len=flags.max_log_len,
        enable_prompt_tokens_details=getattr(flags, "enable_prompt_tokens_details", False),
        engine={name: value for name, value in engine.items() if value is not None},
    )


def model_options(flags: argparse.Namespace) -> ModelOptions:
    """The options of the model that the flags say."""
    from dragoman.model import ModelOptions

    limits = {field.name: getattr(flags, f"max_{field.name}") for field in dataclasses.fields(Bounds)}
    return ModelOptions(
        served_model_names=tuple(flags.served_model_name),
        bounds=Bounds(**limits),
        stream_state_key=stream_state_key(flags.stream_state_key),
        **{name: getattr(flags, name) for name in MODEL_FIELDS},
    )
