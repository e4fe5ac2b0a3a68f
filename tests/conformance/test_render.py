"""Requests to the render server with the reference's answers."""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from dragoman.cli import launch
from dragoman.cli.start import server_options
from dragoman.server.app import build_app
from dragoman.server.services import load_services
from tests.conformance.data import FOLDERS, OWN, Differences, case_id, json_lines, model_path

# The folder of the data, and the name of a file.
Named = tuple[Path, str]
FILES: list[Named] = [
    (folder / "render", path.stem)
    for folder in FOLDERS
    for path in sorted((folder / "render").glob("*.jsonl"))
]
SAMPLING_DEFAULTS_FILE = OWN / "sampling_params.json"
# Internals of the reference.
INTERNAL = {"output_kind", "skip_clone", "skip_reading_prefix_cache"}
# Names of the reference's own types in the path of a parameter.
TYPE_NAME = re.compile(r"\.[A-Z]\w+")


def client(model: str, flags: list[str]) -> httpx.AsyncClient:
    """A client of the application that `dragoman launch render` would serve."""
    parser = argparse.ArgumentParser()
    launch.add_parser(parser.add_subparsers())
    options = parser.parse_args(["launch", "render", model, "--served-model-name", "m", *flags])
    app = build_app(load_services(server_options(options, "render", exposed=True)))
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test", timeout=60)  # type: ignore[arg-type]


async def ask(client: httpx.AsyncClient, case: dict[str, Any]) -> httpx.Response:
    method, _, path = case["path"].rpartition(" ")
    headers = case["headers"] or {}
    if isinstance(case["body"], str):
        return await client.request(method or "POST", path, content=case["body"].encode(), headers=headers)
    return (
        await client.request(method or "POST", path, json=case["body"], headers=headers)
        if case["body"] is not None
        else await client.request(method or "POST", path, headers=headers)
    )


def sampling(params: dict[str, Any]) -> dict[str, Any]:
    """Sampling parameters with the defaults filled in and the internals left out."""
    defaults = {
        name: field["default"] for name, field in json.loads(SAMPLING_DEFAULTS_FILE.read_text()).items()
    }
    values = {**defaults, **params}
    grammar = values["structured_outputs"]
    if grammar is not None:
        grammar = {
            name: value for name, value in grammar.items() if value not in (None, False) and name[0] != "_"
        }
        if "structural_tag" in grammar:
            grammar["structural_tag"] = json.loads(grammar["structural_tag"])
        values["structured_outputs"] = grammar
    return {name: value for name, value in values.items() if name not in INTERNAL}


def normal_request(request: dict[str, Any]) -> dict[str, Any]:
    """A generate request in the form that is compared."""
    request = dict(request, sampling_params=sampling(request["sampling_params"]))
    request["request_id"] = re.sub(r"[0-9a-f]{32}", "<uuid>", request["request_id"])
    kwargs = (request.get("reasoning_parser_kwargs") or {}).get("chat_template_kwargs")
    if kwargs is not None:
        kwargs.pop("cohere_format", None)
    return request


def normal(body: Any) -> Any:
    """An answer in the form that is compared."""
    if isinstance(body, list):
        return [normal_request(request) for request in body]
    if isinstance(body, dict) and "sampling_params" in body:
        return normal_request(body)
    if isinstance(body, dict) and isinstance(body.get("error"), dict):
        error = body["error"]
        param = error["param"] and TYPE_NAME.sub("", error["param"])
        return {**body, "error": {"code": error["code"], "type": error["type"], "param": param}}
    return body


def normal_response(path: str, body: Any) -> Any:
    if path == "GET /v1/models" and isinstance(body, dict) and "data" in body:
        # Owner, root and times are the server's own.
        return [model["id"] for model in body["data"]], [model["max_model_len"] for model in body["data"]]
    return normal(body)


def of_api(case: dict[str, Any]) -> Any:
    """The reference's answer, an error of `/v1/messages` in the shape of that API.

    vLLM 0.32 answers in OpenAI's shape there. The types are those of its 0.34, and of Anthropic's documentation:
    https://docs.anthropic.com/en/api/errors
    """
    body = case["response"]
    if (
        case["path"].startswith("/v1/messages")
        and isinstance(body, dict)
        and isinstance(body.get("error"), dict)
    ):
        name = {400: "invalid_request_error", 404: "not_found_error"}[case["status"]]
        return {"type": "error", "error": {**body["error"], "type": name}}
    return body


def compare(case: dict[str, Any], status: int, body: Any) -> str | None:
    """What is wrong with an answer; None where nothing is."""
    if status != case["status"]:
        return f"status {status}, expected {case['status']}: {str(body)[:300]}"
    ours, expected = normal_response(case["path"], body), normal_response(case["path"], of_api(case))
    if case["path"] == "GET /version":
        return None if set(body) == {"version"} else f"{body}"
    if ours == expected:
        return None
    return "; ".join(differing(ours, expected, ""))


def differing(ours: Any, expected: Any, path: str) -> list[str]:
    """Where two values differ, by path."""
    if isinstance(ours, dict) and isinstance(expected, dict):
        keys = sorted({*ours, *expected})
        return [
            line
            for key in keys
            for line in differing(ours.get(key, "absent"), expected.get(key, "absent"), f"{path}.{key}")
        ]
    if isinstance(ours, list) and isinstance(expected, list) and len(ours) == len(expected):
        pairs = enumerate(zip(ours, expected, strict=True))
        return [line for index, (one, other) in pairs for line in differing(one, other, f"{path}.{index}")]
    return [] if ours == expected else [f"{path}: {str(ours)[:200]}, expected {str(expected)[:200]}"]


async def run(named: Named) -> list[str]:
    """The faults in the answers to the cases of a file."""
    folder, name = named
    cases = json_lines(folder / f"{name}.jsonl")
    differences = Differences("render")
    faults = []
    async with client(model_path(folder, name.split("__")[0]), cases[0]["flags"]) as http:
        for case in cases:
            response = await ask(http, case)
            try:
                body = response.json() if response.content else ""
            except ValueError:
                body = response.text
            fault = compare(case, response.status_code, body)
            listed = differences.reason(case_id(named), case["name"])
            if fault and not listed:
                faults.append(f"{case['name']}: {fault}")
            if listed and not fault:
                faults.append(f"{case['name']}: listed in differences.toml, but does not differ")
    return faults


@pytest.mark.parametrize("named", FILES, ids=case_id)
def test_answers_equal_the_reference(named: Named) -> None:
    faults = asyncio.run(run(named))
    assert not faults, f"{len(faults)} faults\n" + "\n".join(faults)
