"""The switch of the scale-out endpoints (render, generate, derender): VLLM_ENABLE_SCALE_OUT_ENDPOINTS."""

from __future__ import annotations

import logging
import os

LOGGER = logging.getLogger("dragoman")
VARIABLE = "VLLM_ENABLE_SCALE_OUT_ENDPOINTS"


class SwitchError(ValueError):
    """A value that the switch does not have, or one that contradicts the mode."""


def scale_out(*, flag: bool, dedicated: str | None) -> bool:
    """Whether the endpoints are exposed. `dedicated` names a mode that exists for them alone, or is None.

    In a dedicated mode they always are, and `0` is a conflict; otherwise `1` and --enable-scale-out switch
    them on. Raises SwitchError.
    """
    value = os.environ.get(VARIABLE)
    if value not in (None, "0", "1"):
        raise SwitchError(f"{VARIABLE} is {value!r}; it accepts 0 or 1")
    if dedicated is not None:
        if value == "0":
            raise SwitchError(
                f"{VARIABLE} is 0, but {dedicated} serves nothing but those endpoints: "
                f"unset {VARIABLE} or set it to 1, or run plain `dragoman serve`"
            )
        return True
    if value == "0" and flag:
        raise SwitchError(
            f"{VARIABLE} is 0, but --enable-scale-out was given: unset {VARIABLE} or leave out the flag"
        )
    on = flag or value == "1"
    if not on:
        LOGGER.info(
            "the scale-out endpoints (render, generate, derender) are off: "
            "--enable-scale-out or %s=1 switches them on",
            VARIABLE,
        )
    return on
