"""The switch of a trainer's endpoints (pause, resume, other weights): VLLM_SERVER_DEV_MODE."""

from __future__ import annotations

import logging
import os

from dragoman.cli.scale_out import SwitchError

LOGGER = logging.getLogger("dragoman")
VARIABLE = "VLLM_SERVER_DEV_MODE"


def trainer(*, flag: bool, tokens_only: bool) -> bool:
    """Whether the endpoints are exposed, which only a tokens-only server can: with them one request stops all others.

    Raises SwitchError.
    """
    if not tokens_only:
        if flag:
            raise SwitchError("--enable-trainer-endpoints needs --tokens-only")
        return False
    value = os.environ.get(VARIABLE)
    if value not in (None, "0", "1"):
        raise SwitchError(f"{VARIABLE} is {value!r}; it accepts 0 or 1")
    on = flag or value == "1"
    if not on:
        LOGGER.info(
            "the trainer's endpoints (pause, resume, update_weights_from_disk) are off: "
            "--enable-trainer-endpoints or %s=1 switches them on",
            VARIABLE,
        )
    return on
