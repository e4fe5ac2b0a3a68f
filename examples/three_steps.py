"""One chat request through the three steps: render -> generate -> derender.

Start the two servers, then run this:

    dragoman launch render smollm2 --port 8001
    dragoman serve smollm2 --tokens-only --port 8002
    python examples/three_steps.py --render http://127.0.0.1:8001 --generate http://127.0.0.1:8002

The generate server may just as well be `vllm serve MODEL --tokens-only`: the bodies are the same.
It needs nothing but Python.
"""

from __future__ import annotations

import argparse
import json
import urllib.request
from typing import Any


def post(url: str, body: Any) -> Any:
    """Sends JSON and gives back the JSON of the answer; urllib raises for a status that is not 2xx."""
    request = urllib.request.Request(
        url, data=json.dumps(body).encode(), headers={"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=120) as response:
        return json.load(response)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--render", default="http://127.0.0.1:8001", help="URL of the render server")
    parser.add_argument("--generate", default="http://127.0.0.1:8002", help="URL of the generate server")
    parser.add_argument("--derender", help="URL of the derender server; the render server where left out")
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--question", default="What is the capital of France?")
    urls = parser.parse_args()

    chat_request = {
        "model": urls.model,
        "messages": [{"role": "user", "content": urls.question}],
        "temperature": 0,
        "max_tokens": 64,
    }

    # 1. Render: messages become token ids and sampling parameters.
    generate_request = post(f"{urls.render}/v1/chat/completions/render", chat_request)
    print("prompt token ids:   ", generate_request["token_ids"])

    # 2. Generate: the engine sees ids only; what render answered is its request, as it is.
    generate_response = post(f"{urls.generate}/inference/v1/generate", generate_request)
    print("generated token ids:", generate_response["choices"][0]["token_ids"])

    # 3. Derender: ids become a chat completion. `chat_request` is optional: it brings the client's stop
    #    strings and lets reasoning and tool calls be told from text.
    chat_response = post(
        f"{urls.derender or urls.render}/v1/chat/completions/derender",
        {
            "model": urls.model,
            "generate_response": generate_response,
            "prompt_tokens": len(generate_request["token_ids"]),
            "chat_request": chat_request,
        },
    )
    print(chat_response["choices"][0]["message"]["content"])


if __name__ == "__main__":
    main()
