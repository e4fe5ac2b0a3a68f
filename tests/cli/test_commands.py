"""Commands end with a status and one line that helps."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.cli import main
from dragoman.cli.server_process import ServerFailedError, ServerProcess


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dragoman.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_model_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["launch", "render", "no-such-model"]) == 1
    assert "no-such-model" in capsys.readouterr().err


def test_fetch_prints_the_path(smollm2: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fetch", "smollm2"]) == 0
    assert capsys.readouterr().out.strip() == str(smollm2)


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (["--max-model-len", "9000"], "9000"),
        (["--max-model-len", "lots"], "lots"),
        (["--chat-template", "/no/such/file"], "/no/such/file"),
        (["--hf-overrides", "[]"], "--hf-overrides"),
        (["--port", "70000"], "70000"),
        (["--no-such-flag"], "--no-such-flag"),
        (["--generation-config", "/no/such/folder"], "/no/such/folder"),
    ],
)
def test_a_flag_that_does_not_fit_is_named(flags: list[str], named: str, smollm2: Path) -> None:
    result = run("launch", "render", "smollm2", *flags)
    assert result.returncode in (1, 2)
    assert named in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (["--cpu-threads", "4096000"], "cpu_threads must be at most"),
        (["--cpu-threads", "0"], "cpu_threads must be at least 1"),
        (["--max-num-queued-reqs", "0"], "max_num_queued_reqs must be at least 1"),
    ],
)
def test_an_engine_flag_that_does_not_fit_is_named(flags: list[str], named: str, smollm2: Path) -> None:
    pytest.importorskip("torch", reason="the engine extra (torch) is not installed")
    result = run("serve", "smollm2", *flags)
    assert result.returncode == 2
    assert named in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_server_cleanly(number: signal.Signals, smollm2: Path) -> None:
    with ServerProcess("launch", "render", "smollm2") as server:
        server.process.send_signal(number)
        assert server.process.wait(10) == 0
        assert "Traceback" not in server.log()


def test_a_port_that_is_taken(render_server: ServerProcess) -> None:
    port = render_server.url.rsplit(":", 1)[1]
    result = run("launch", "render", "smollm2", "--host", "127.0.0.1", "--port", port)
    assert result.returncode != 0
    assert port in result.stderr
    assert "Traceback" not in result.stderr


def test_a_server_that_does_not_start_tells_why() -> None:
    with (
        pytest.raises(ServerFailedError, match="no-such-model"),
        ServerProcess("launch", "render", "no-such-model"),
    ):
        pass
