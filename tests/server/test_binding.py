"""Where a server listens: a Unix socket, a path prefix, TLS."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path

import httpx
import pytest

from dragoman.cli.server_process import ServerProcess

CHAT = {"messages": [{"role": "user", "content": "hi"}]}
PATH = "/v1/chat/completions/render"


def test_a_unix_socket(smollm2: Path, tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with ServerProcess("launch", "render", "smollm2", "--uds", str(path)) as server:
        assert server.url == f"unix:{path}"
        transport = httpx.HTTPTransport(uds=str(path))
        with httpx.Client(transport=transport, base_url="http://socket") as client:
            assert client.post(PATH, json=CHAT).status_code == 200


def test_a_prefix_that_a_proxy_takes_off(smollm2: Path) -> None:
    arguments = ("--root-path", "/api/", "--api-key", "k")
    with (
        ServerProcess("launch", "render", "smollm2", *arguments) as server,
        httpx.Client(base_url=server.url) as client,
    ):
        assert client.get("/health").status_code == 200
        assert client.post(PATH, json=CHAT).status_code == 401
        headers = {"authorization": "Bearer k"}
        assert client.post(PATH, json=CHAT, headers=headers).status_code == 200
        page = client.get("/openapi.json", headers=headers).json()
        assert page["servers"] == [{"url": "/api"}]
        counted = [line for line in client.get("/metrics").text.splitlines() if PATH in line]
        assert counted


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl for a certificate")
def test_tls(smollm2: Path, tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    request = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=x"]
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*request, *names], check=True, capture_output=True)
    flags = ("--ssl-keyfile", str(key), "--ssl-certfile", str(certificate))
    with ServerProcess("launch", "render", "smollm2", *flags) as server:
        assert server.url.startswith("https://127.0.0.1:")
        trusted = ssl.create_default_context(cafile=str(certificate))
        with httpx.Client(base_url=server.url, verify=trusted) as client:
            assert client.post(PATH, json=CHAT).status_code == 200
