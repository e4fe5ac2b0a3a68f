"""The three steps of the demo: asked over HTTP, timed, and printed."""

from __future__ import annotations

import http.client
import json
import time
import urllib.parse
from collections.abc import Iterable
from contextlib import ExitStack
from typing import Any

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from dragoman.cli.server_process import ServerFailedError, ServerProcess

WIDTH = 100
# Between two tokens.
GAP = "  "
# Neighbouring tokens take turns, so that their borders show.
TOKEN_COLOURS = ("#9ccfd8", "#f6c177", "#a8d8a0", "#ebbcba", "#c4a7e7")
SPECIAL_STYLE = "bold white on #56526e"
STEP_COLOURS = {"render": "#9ccfd8", "generate": "#f6c177", "derender": "#c4a7e7"}


class Client:
    """One kept-alive connection to a server."""

    def __init__(self, url: str) -> None:
        parts = urllib.parse.urlsplit(url)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=120)

    def post(self, path: str, body: dict[str, Any]) -> tuple[dict[str, Any], float]:
        """The answer and the time it took in milliseconds. Raises RuntimeError for any status but 200."""
        payload = json.dumps(body)
        begin = time.perf_counter()
        self._connection.request("POST", path, payload, {"content-type": "application/json"})
        response = self._connection.getresponse()
        reply = response.read()
        milliseconds = (time.perf_counter() - begin) * 1000
        if response.status != 200:
            raise RuntimeError(f"{path} answered {response.status}: {reply.decode(errors='replace')}")
        value: dict[str, Any] = json.loads(reply)
        return value, milliseconds

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()


def run_demo(model: str, question: str, max_tokens: int, console: Console | None = None) -> int:
    """Starts both servers, runs the steps, prints them and stops the servers; the exit status."""
    console = console or Console(highlight=False)
    if console.width > WIDTH:
        console = Console(highlight=False, width=WIDTH)
    try:
        with ExitStack() as stack:
            with console.status("starting the render server and the engine ..."):
                quiet = ("--log-level", "warning")
                render = stack.enter_context(ServerProcess("launch", "render", model, *quiet))
                engine = stack.enter_context(ServerProcess("serve", model, "--tokens-only", *quiet))
            console.print(_servers(render, engine))
            _three_steps(console, model, question, max_tokens, render.url, engine.url)
    except (ServerFailedError, RuntimeError, OSError) as error:
        console.print(f"the demo failed: {error}", style="bold red", markup=False)
        return 1
    return 0


def _three_steps(
    console: Console, model: str, question: str, max_tokens: int, render_url: str, engine_url: str
) -> None:
    render, engine = Client(render_url), Client(engine_url)
    chat = {
        "model": model,
        "messages": [{"role": "user", "content": question}],
        "temperature": 0,
        "max_tokens": max_tokens,
    }
    request, render_time = render.post("/v1/chat/completions/render", chat)
    prompt = request["token_ids"]
    console.print(
        _step(
            "render",
            "/v1/chat/completions/render",
            render_time,
            [
                ("chat request", _json(chat)),
                (f"prompt, {len(prompt)} tokens", Chips(prompt, _texts(render, model, prompt))),
            ],
        )
    )

    response, generate_time = engine.post("/inference/v1/generate", request)
    choice = response["choices"][0]
    generated = choice["token_ids"]
    sampling = request["sampling_params"]
    shown = {
        "request_id": request["request_id"],
        "model": request["model"],
        "token_ids": Elided(prompt),
        "sampling_params": {key: sampling[key] for key in ("temperature", "max_tokens") if key in sampling},
    }
    console.print(
        _step(
            "generate",
            "/inference/v1/generate",
            generate_time,
            [
                ("generate request", _json(shown)),
                (
                    f"generated, {len(generated)} tokens",
                    Chips(generated, _texts(render, model, generated)),
                ),
            ],
        )
    )

    body = {"model": model, "generate_response": response, "prompt_tokens": len(prompt), "chat_request": chat}
    completion, derender_time = render.post("/v1/chat/completions/derender", body)
    final = completion["choices"][0]
    console.print(
        _step(
            "derender",
            "/v1/chat/completions/derender",
            derender_time,
            [
                ("assistant", Text(final["message"]["content"] or "", style="bold")),
                ("finish reason", Text(str(final["finish_reason"]))),
                ("usage", _usage(completion["usage"])),
            ],
        )
    )
    times = {"render": render_time, "generate": generate_time, "derender": derender_time}
    console.print(_times(times, len(generated)))
    render.close()
    engine.close()


def _texts(client: Client, model: str, token_ids: Iterable[int]) -> list[str]:
    """The text of each token alone; a token that is part of a character shows as U+FFFD."""
    bodies = [{"model": model, "tokens": [token]} for token in token_ids]
    return [str(client.post("/detokenize", body)[0]["prompt"]) for body in bodies]


class Elided:
    """A list of which the first and last few items are shown."""

    def __init__(self, items: list[int], ends: int = 4) -> None:
        self.items = items
        self.ends = ends

    def __str__(self) -> str:
        if len(self.items) <= 2 * self.ends:
            return json.dumps(self.items)
        first = ", ".join(map(str, self.items[: self.ends]))
        last = ", ".join(map(str, self.items[-self.ends :]))
        return f"[{first}, … {len(self.items) - 2 * self.ends} more …, {last}]"


def _json(value: dict[str, Any]) -> Text:
    """A flat view of an object: a line for each field."""
    width = max(len(key) for key in value)
    lines = Text()
    for number, (key, item) in enumerate(value.items()):
        if number:
            lines.append("\n")
        lines.append(key.ljust(width + 2), style="dim")
        lines.append(str(item) if isinstance(item, Elided) else json.dumps(item, ensure_ascii=False))
    return lines


class Chips:
    """Tokens as coloured chips, each with its id behind it, wrapped between chips only."""

    def __init__(self, token_ids: list[int], texts: list[str]) -> None:
        self._chips = [
            _chip(number, token, text)
            for number, (token, text) in enumerate(zip(token_ids, texts, strict=True))
        ]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        line = Text()
        for chip in self._chips:
            if line.cell_len and line.cell_len + len(GAP) + chip.cell_len > options.max_width:
                yield line
                line = Text()
            elif line.cell_len:
                line.append(GAP)
            line.append_text(chip)
        yield line


def _chip(number: int, token: int, text: str) -> Text:
    special = text.startswith("<|") and text.endswith("|>")
    style = SPECIAL_STYLE if special else f"black on {TOKEN_COLOURS[number % len(TOKEN_COLOURS)]}"
    # Line breaks are made visible; spaces are by the colour, and must not be taken for places to break.
    visible = text.replace("\n", "⏎").replace("\t", "⇥").replace(" ", "\u00a0")
    return Text.assemble((visible, style), (f" {token}", "dim"), no_wrap=True)


def _usage(usage: dict[str, Any]) -> Text:
    prompt, generated = usage["prompt_tokens"], usage["completion_tokens"]
    return Text(f"{prompt} prompt + {generated} generated = {usage['total_tokens']} tokens")


def _step(name: str, path: str, milliseconds: float, rows: list[tuple[str, RenderableType]]) -> Panel:
    number = list(STEP_COLOURS).index(name) + 1
    colour = STEP_COLOURS[name]
    parts: list[RenderableType] = []
    for index, (label, content) in enumerate(rows):
        if index:
            parts.append(Text())
        parts.append(Text(label, style=f"bold {colour}"))
        parts.append(Padding(content, (0, 0, 0, 2)))
    title = Text.assemble((f" {number} {name} ", f"bold black on {colour}"), (f" POST {path} ", "dim"))
    return Panel(
        Group(*parts),
        title=title,
        title_align="left",
        subtitle=Text(f" {milliseconds:.1f} ms ", style=f"bold {colour}"),
        subtitle_align="right",
        border_style=colour,
        box=box.ROUNDED,
        padding=(1, 2),
    )


def _servers(render: ServerProcess, engine: ServerProcess) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 1))
    table.add_row(
        Text("dragoman launch render", style="bold"),
        render.url,
        Text(f"ready in {render.seconds_to_ready:.2f} s", style="dim"),
    )
    table.add_row(
        Text("dragoman serve --tokens-only", style="bold"),
        engine.url,
        Text(f"ready in {engine.seconds_to_ready:.2f} s", style="dim"),
    )
    return table


def _times(times: dict[str, float], generated: int) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 2))
    table.add_column("step")
    table.add_column("time", justify="right")
    table.add_column("share")
    total = sum(times.values())
    for name, milliseconds in times.items():
        bar = "█" * max(1, round(50 * milliseconds / total))
        table.add_row(
            Text(name, style=f"bold {STEP_COLOURS[name]}"),
            f"{milliseconds:.1f} ms",
            Text(bar, style=STEP_COLOURS[name]),
        )
    rate = generated / times["generate"] * 1000
    table.add_row("all", f"{total:.1f} ms", Text(f"{rate:.0f} tokens/s generated", style="dim"))
    return table
