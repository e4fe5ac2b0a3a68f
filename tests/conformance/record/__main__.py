"""Records what the command line names."""

from __future__ import annotations

import argparse

from tests.conformance.record import templates, tokenization, vllm


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.record")
    parser.add_argument("what", nargs="+", choices=["templates", "tokenization", "vllm"])
    parser.add_argument("--vllm", default="vllm", help="the command of vLLM 0.32 (default: %(default)s)")
    options = parser.parse_args()
    if "templates" in options.what:
        templates.record()
    if "tokenization" in options.what:
        tokenization.record()
    if "vllm" in options.what:
        vllm.record(options.vllm)


if __name__ == "__main__":
    main()
