"""Values of flags that argparse has no type for."""

from __future__ import annotations

import argparse
import json
import re
from typing import Any

# As vLLM reads them: lower case counts in thousands, upper case in powers of 1024.
UNITS = {"k": 1000, "m": 1000**2, "g": 1000**3, "K": 1024, "M": 1024**2, "G": 1024**3}
NUMBER = re.compile(r"(\d+(?:\.\d+)?)([kmgKMG]?)\Z")


def human_integer(text: str) -> int:
    """`4096`, `32k` (32,000), `32K` (32,768), `1.5k`."""
    match = NUMBER.match(text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no number such as 4096, 32k (32,000) or 32K (32,768)")
    number, unit = match.groups()
    value = float(number) * UNITS.get(unit, 1)
    if value != int(value):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(value)


def context_length(text: str) -> int:
    """As `human_integer`; `-1` and `auto` mean the model's own."""
    return -1 if text in ("-1", "auto") else human_integer(text)


def json_object(text: str) -> dict[str, Any]:
    """A JSON object."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(f"{text!r} is not a JSON object")
    return value


EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


def effort_map(text: str) -> dict[str, str]:
    """A JSON object of reasoning efforts and what a template calls them."""
    value = json_object(text)
    unknown = sorted(set(value) - set(EFFORTS))
    if unknown or not all(isinstance(name, str) for name in value.values()):
        raise argparse.ArgumentTypeError(f"{text!r} must map efforts ({', '.join(EFFORTS)}) to strings")
    return value


def port(text: str) -> int:
    """A TCP port; 0 takes a free one."""
    if not text.isdigit() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port from 0 to 65535")
    return int(text)
