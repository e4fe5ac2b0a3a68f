"""schemathesis over the OpenAPI page of the render server: whatever is sent, no 5xx."""

from __future__ import annotations

import subprocess
import sys

import pytest

from dragoman.cli.server_process import ServerProcess


@pytest.mark.timeout(300)
def test_no_request_is_answered_with_5xx(render_server: ServerProcess) -> None:
    command = [sys.executable, "-c", "from schemathesis.cli import schemathesis; schemathesis()", "run"]
    options = ["--checks", "not_a_server_error", "--phases", "examples,fuzzing", "--max-examples", "40"]
    fixed = ["--generation-deterministic", "--no-color", "--workers", "1"]
    result = subprocess.run(
        [*command, f"{render_server.url}/openapi.json", *options, *fixed],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-2000:]
    assert "No issues found" in result.stdout or "passed" in result.stdout
