"""A trainer's routes on a whole server with a tiny random model: pause, other weights, resume."""

from __future__ import annotations

import dataclasses
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from dragoman.engine.runner import StepResult
from dragoman.engine.scheduler import Step
from dragoman.model import ModelOptions
from dragoman.server.options import ServerOptions
from dragoman.server.services import Services, load_services
from tests.engine.conftest import TINY_LLAMA
from tests.engine.engines import build
from tests.engine.sharded import DAMAGES
from tests.engine.sharded import save as save_sharded
from tests.server.running_app import running

torch = pytest.importorskip("torch", reason="the engine extra (torch) is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

GENERATE = "/inference/v1/generate"
PROMPT = [5, 17, 99, 3, 200, 41, 8, 77] * 5
GREEDY = {"temperature": 0, "max_tokens": 8, "ignore_eos": True}


def save(directory: Path, seed: int, **changed: Any) -> Path:
    torch.manual_seed(seed)
    config = transformers.LlamaConfig(**{**TINY_LLAMA, **changed}, initializer_range=0.2)
    transformers.LlamaForCausalLM(config).save_pretrained(directory)
    return directory


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("weights")
    found = {"old": save(folder / "old", 7), "new": save(folder / "new", 8)}
    found["wide"] = save(folder / "wide", 8, intermediate_size=128)
    found["deep"] = save(folder / "deep", 8, num_hidden_layers=3)
    return found


@pytest.fixture(scope="module")
def services(smollm2: Path) -> Services:
    model = ModelOptions(model="smollm2", served_model_names=("m",))
    return load_services(ServerOptions(mode="render", model=model, scale_out=True))


@pytest.fixture
def client(
    services: Services, models: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> Iterator[httpx.Client]:
    """A tokens-only server whose engine runs the tiny model."""
    options = dataclasses.replace(
        services.options, mode="tokens-only", trainer=True, enable_prompt_tokens_details=True
    )
    engine = build(models["old"])
    run = engine._loop._runner.run

    def unhurried(step: Step) -> StepResult:
        # Slow enough that a test finds requests at work.
        time.sleep(0.002)
        return run(step)

    monkeypatch.setattr(engine._loop._runner, "run", unhurried)
    with running(dataclasses.replace(services, engine=engine, options=options)) as client:
        yield client


def ask(client: httpx.Client, **sampling: Any) -> dict[str, Any]:
    reply = client.post(GENERATE, json={"token_ids": PROMPT, "sampling_params": {**GREEDY, **sampling}})
    assert reply.status_code == 200, reply.text
    answer: dict[str, Any] = reply.json()
    return answer


def update(client: httpx.Client, path: Path, version: str | None = None) -> httpx.Response:
    return client.post("/update_weights_from_disk", json={"model_path": str(path), "weight_version": version})


def reference(path: Path) -> list[int]:
    """What transformers answers."""
    model = transformers.LlamaForCausalLM.from_pretrained(path, dtype=torch.float32)
    model.generation_config.eos_token_id = None
    ids = torch.tensor([PROMPT])
    out = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=8, do_sample=False)
    found: list[int] = out[0, len(PROMPT) :].tolist()
    return found


def test_the_weights_change_between_a_pause_and_its_end(
    client: httpx.Client, models: dict[str, Path]
) -> None:
    before = ask(client)
    assert before["choices"][0]["token_ids"] == reference(models["old"])
    assert before["choices"][0]["weight_versions"] == [{"version": "default", "start": 0, "end": 8}]
    assert ask(client)["usage"]["prompt_tokens_details"]["cached_tokens"] == 32

    assert client.get("/is_paused").json() == {"is_paused": False}
    assert client.post("/pause").json() == {"status": "paused"}
    assert client.get("/is_paused").json() == {"is_paused": True}
    assert client.get("/health").status_code == 200
    reply = update(client, models["new"], "step-1")
    assert (reply.status_code, reply.json()["weight_version"]) == (200, "step-1")
    assert client.post("/resume").json() == {"status": "resumed"}

    after = ask(client)
    assert after["choices"][0]["token_ids"] == reference(models["new"]) != reference(models["old"])
    assert after["choices"][0]["weight_versions"] == [{"version": "step-1", "start": 0, "end": 8}]
    assert after["usage"]["prompt_tokens_details"]["cached_tokens"] == 0


def test_a_running_request_goes_on_with_the_new_weights(
    client: httpx.Client, models: dict[str, Path]
) -> None:
    """Frozen by the pause, it says for each token which weights made it."""
    body = {"token_ids": PROMPT, "sampling_params": {**GREEDY, "max_tokens": 400}, "stream": True}
    with client.stream("POST", GENERATE, json=body) as stream:
        lines = (line for line in stream.iter_lines() if line)
        first = next(lines)
        with httpx.Client(base_url=client.base_url, timeout=60) as other:
            other.post("/pause", params={"mode": "keep"}).raise_for_status()
            update(other, models["new"], "b").raise_for_status()
            other.post("/resume").raise_for_status()
        rest = list(lines)
    assert rest[-1] == "data: [DONE]"
    chunks = [json.loads(line.removeprefix("data: ")) for line in [first, *rest[:-1]]]
    assert len(chunks) == 400
    old, new = chunks[-1]["choices"][0]["weight_versions"]
    assert (old["version"], old["start"], new["version"], new["end"]) == ("default", 0, "b", 400)
    assert 0 < old["end"] == new["start"] < 400


@pytest.mark.parametrize("mode", ["abort", "wait", "keep"])
def test_what_a_pause_does_with_running_requests(mode: str, client: httpx.Client) -> None:
    answers: list[dict[str, Any]] = []

    def run() -> None:
        with httpx.Client(base_url=client.base_url, timeout=60) as own:
            answers.append(ask(own, max_tokens=400))

    first = threading.Thread(target=run)
    first.start()
    while client.get("/load").json() != {"server_load": 1}:
        time.sleep(0.001)
    time.sleep(0.1)
    client.post("/pause", params={"mode": mode}).raise_for_status()
    late = threading.Thread(target=run)
    if mode == "keep":
        first.join(0.3)
        assert first.is_alive()
    else:
        first.join(30)
        (choice,) = answers[0]["choices"]
        reason = {"abort": "abort", "wait": "length"}[mode]
        assert choice["finish_reason"] == reason
    late.start()
    late.join(0.3)
    assert late.is_alive()
    client.post("/resume").raise_for_status()
    first.join(30)
    late.join(30)
    assert [answer["choices"][0]["finish_reason"] for answer in answers][1:] == ["length"]


def test_the_prefix_cache_is_dropped_where_that_is_asked_for(client: httpx.Client) -> None:
    def cached() -> int:
        found: int = ask(client)["usage"]["prompt_tokens_details"]["cached_tokens"]
        return found

    def again(**params: str) -> int:
        client.post("/pause", params=params).raise_for_status()
        client.post("/resume").raise_for_status()
        return cached()

    assert (cached(), cached()) == (0, 32)
    assert client.post("/reset_prefix_cache").status_code == 200
    assert (cached(), cached()) == (0, 32)
    assert again(clear_cache="false") == 32
    assert again(mode="keep") == 32
    assert again(mode="wait") == 0
    assert again() == 0


def test_weights_that_do_not_fit_are_refused_and_the_old_ones_serve_on(
    client: httpx.Client, models: dict[str, Path], tmp_path: Path
) -> None:
    before = ask(client)["choices"][0]
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    (damaged / "config.json").write_bytes((models["new"] / "config.json").read_bytes())
    weights = (models["new"] / "model.safetensors").read_bytes()
    (damaged / "model.safetensors").write_bytes(weights[: len(weights) // 2])
    swapped = tmp_path / "swapped"
    swapped.mkdir()
    # The configuration of one model with the weights of another.
    (swapped / "config.json").write_bytes((models["new"] / "config.json").read_bytes())
    (swapped / "model.safetensors").write_bytes((models["wide"] / "model.safetensors").read_bytes())
    for path in (models["wide"], models["deep"], damaged, swapped, tmp_path, tmp_path / "missing"):
        reply = update(client, path)
        assert reply.status_code == 400, path
        assert reply.json()["error"]["param"] == "model_path"
    assert ask(client)["choices"][0] == before


def test_damaged_weights_are_refused_and_the_old_ones_stay(client: httpx.Client, tmp_path: Path) -> None:
    before = ask(client)["choices"][0]["token_ids"]
    for number, damage in enumerate(DAMAGES.values()):
        directory = save_sharded(tmp_path / str(number))
        named = damage(directory)
        reply = update(client, directory)
        assert reply.status_code == 400, reply.text
        error = reply.json()["error"]
        assert (error["param"], str(named) in error["message"]) == ("model_path", True), error
    assert ask(client)["choices"][0]["token_ids"] == before


@pytest.mark.parametrize(
    ("path", "params", "body"),
    [
        ("/pause", {"mode": "frob"}, None),
        ("/pause", {"clear_cache": "frob"}, None),
        ("/update_weights_from_disk", {}, "{"),
        ("/update_weights_from_disk", {}, "[]"),
        ("/update_weights_from_disk", {}, "{}"),
        ("/update_weights_from_disk", {}, '{"model_path": 3}'),
        ("/update_weights_from_disk", {}, '{"model_path": "a\\u0000b"}'),
    ],
)
def test_bad_requests(path: str, params: dict[str, str], body: str | None, client: httpx.Client) -> None:
    assert client.post(path, params=params, content=body).status_code == 400
    assert client.get("/is_paused").json() == {"is_paused": False}


@pytest.mark.parametrize("server", ["engine_client", "coupled_client"])
def test_no_server_has_them_unasked(server: str, request: pytest.FixtureRequest) -> None:
    client: httpx.Client = request.getfixturevalue(server)
    for path in ("/pause", "/resume", "/reset_prefix_cache", "/update_weights_from_disk"):
        assert client.post(path).status_code == 404
    assert client.get("/is_paused").status_code == 404
