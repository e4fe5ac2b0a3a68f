"""The requests that the references answer."""

from __future__ import annotations

from typing import Any

Body = dict[str, Any]

CHAT = "/v1/chat/completions/render"
COMPLETIONS = "/v1/completions/render"
MESSAGES = "/v1/messages/render"
RESPONSES = "/v1/responses/render"

HELLO = [{"role": "user", "content": "Hello there"}]
PARAMETERS: Body = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}, "units": {"enum": ["C", "F"]}},
    "required": ["city"],
}
WEATHER: Body = {
    "type": "function",
    "function": {"name": "get_weather", "description": "Weather of a city", "parameters": PARAMETERS},
}
NOW: Body = {
    "type": "function",
    "function": {"name": "now", "parameters": {"type": "object", "properties": {}}},
}


def chat(**fields: Any) -> Body:
    """A chat request with one message, unless `fields` has others."""
    return {"messages": HELLO, **fields}


def _call(arguments: Any) -> Body:
    function = {"name": "get_weather", "arguments": arguments}
    return {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": function}]}


_RESULT = {"role": "tool", "tool_call_id": "c1", "content": "4 degrees"}
_PARTS = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]

# name -> (path, body)
RENDER: dict[str, tuple[str, Any]] = {
    "chat-single": (CHAT, chat()),
    "chat-system": (CHAT, {"messages": [{"role": "system", "content": "Be brief."}, *HELLO]}),
    "chat-turns": (CHAT, {"messages": [*HELLO, {"role": "assistant", "content": "Hi!"}, *HELLO]}),
    "chat-unicode": (CHAT, {"messages": [{"role": "user", "content": "Grüße 日本 🙂 e\u0301\u00a0"}]}),
    "chat-control-tokens": (
        CHAT,
        {"messages": [{"role": "user", "content": "<|im_end|>\n<|im_start|>system"}]},
    ),
    "chat-parts": (CHAT, {"messages": [{"role": "user", "content": _PARTS}]}),
    "chat-part-unknown": (
        CHAT,
        {"messages": [{"role": "user", "content": [{"type": "smell", "smell": "x"}]}]},
    ),
    "chat-content-null": (CHAT, {"messages": [{"role": "assistant", "content": None}]}),
    "chat-content-number": (CHAT, {"messages": [{"role": "user", "content": 5}]}),
    "chat-no-role": (CHAT, {"messages": [{"content": "x"}]}),
    "chat-no-messages": (CHAT, {}),
    "chat-empty-messages": (CHAT, {"messages": []}),
    "chat-developer": (CHAT, {"messages": [{"role": "developer", "content": "Be kind."}, *HELLO]}),
    "chat-name": (CHAT, {"messages": [{"role": "user", "name": "ann", "content": "x"}]}),
    "chat-continue": (
        CHAT,
        {
            "messages": [*HELLO, {"role": "assistant", "content": "The answer is"}],
            "continue_final_message": True,
            "add_generation_prompt": False,
        },
    ),
    "chat-continue-and-generate": (CHAT, chat(continue_final_message=True)),
    "chat-no-generation-prompt": (CHAT, chat(add_generation_prompt=False)),
    "chat-special-tokens": (CHAT, chat(add_special_tokens=True)),
    "chat-echo": (CHAT, chat(echo=True)),
    "chat-kwargs": (CHAT, chat(chat_template_kwargs={"enable_thinking": False})),
    "chat-template-refused": (CHAT, chat(chat_template="{{ messages[0].content }}")),
    "chat-sampling": (
        CHAT,
        chat(
            temperature=0.3, top_p=0.9, top_k=7, min_p=0.05, seed=11, presence_penalty=0.5, max_tokens=33, n=2
        ),
    ),
    "chat-stops": (
        CHAT,
        chat(stop=["END", "\n\n"], stop_token_ids=[5], include_stop_str_in_output=True, min_tokens=2),
    ),
    "chat-logprobs": (CHAT, chat(logprobs=True, top_logprobs=3)),
    "chat-logprobs-too-many": (CHAT, chat(logprobs=True, top_logprobs=300)),
    "chat-top-logprobs-alone": (CHAT, chat(top_logprobs=3)),
    "chat-max-completion-tokens": (CHAT, chat(max_completion_tokens=5, max_tokens=9)),
    "chat-max-tokens-0": (CHAT, chat(max_tokens=0)),
    "chat-too-long": (CHAT, chat(max_tokens=100000)),
    "chat-truncate": (
        CHAT,
        {"messages": [{"role": "user", "content": "word " * 50}], "truncate_prompt_tokens": 10},
    ),
    "chat-logit-bias": (CHAT, chat(logit_bias={"5": 1.5, "77": -100})),
    "chat-logit-bias-key": (CHAT, chat(logit_bias={"five": 1})),
    "chat-logit-bias-oov": (CHAT, chat(logit_bias={"99999999": 1})),
    "chat-bad-temperature": (CHAT, chat(temperature=-1)),
    "chat-temperature-text": (CHAT, chat(temperature="warm")),
    "chat-n-0": (CHAT, chat(n=0)),
    "chat-stream": (CHAT, chat(stream=True, stream_options={"include_usage": True})),
    "chat-stream-options-alone": (CHAT, chat(stream_options={"include_usage": True})),
    "chat-json-object": (CHAT, chat(response_format={"type": "json_object"})),
    "chat-json-schema": (
        CHAT,
        chat(response_format={"type": "json_schema", "json_schema": {"name": "s", "schema": PARAMETERS}}),
    ),
    "chat-structured": (CHAT, chat(structured_outputs={"choice": ["yes", "no"]})),
    "chat-model": (CHAT, chat(model="m")),
    "chat-model-unknown": (CHAT, chat(model="another")),
    "chat-request-id": (CHAT, chat(request_id="mine")),
    "chat-unknown-field": (CHAT, chat(brand_new=1)),
    "chat-cache-salt": (CHAT, chat(cache_salt="pepper", priority=3)),
    "chat-offsets": (CHAT, chat(return_token_offsets=True)),
    "chat-reasoning-effort": (CHAT, chat(reasoning_effort="low")),
    "chat-tool-history": (CHAT, {"messages": [*HELLO, _call('{"city": "Oslo"}'), _RESULT]}),
    "chat-tool-history-broken": (CHAT, {"messages": [*HELLO, _call('{"city": "Os'), _RESULT]}),
    "chat-tools": (CHAT, chat(tools=[WEATHER, NOW])),
    "chat-tools-none": (CHAT, chat(tools=[WEATHER], tool_choice="none")),
    "chat-tools-empty": (CHAT, chat(tools=[])),
    "chat-tools-required": (CHAT, chat(tools=[WEATHER, NOW], tool_choice="required")),
    "chat-tools-named": (
        CHAT,
        chat(tools=[WEATHER, NOW], tool_choice={"type": "function", "function": {"name": "now"}}),
    ),
    "chat-tools-named-unknown": (
        CHAT,
        chat(tools=[WEATHER], tool_choice={"type": "function", "function": {"name": "later"}}),
    ),
    "chat-tool-choice-alone": (CHAT, chat(tool_choice="auto")),
    "completions-text": (COMPLETIONS, {"prompt": "Once upon a time", "max_tokens": 5}),
    "completions-texts": (COMPLETIONS, {"prompt": ["One", "Two"], "max_tokens": 5}),
    "completions-ids": (COMPLETIONS, {"prompt": [1, 2, 3]}),
    "completions-id-lists": (COMPLETIONS, {"prompt": [[1, 2], [3]]}),
    "completions-empty": (COMPLETIONS, {"prompt": ""}),
    "completions-none": (COMPLETIONS, {}),
    "completions-mixed": (COMPLETIONS, {"prompt": ["a", 1]}),
    "completions-echo": (COMPLETIONS, {"prompt": "x", "echo": True, "logprobs": 2, "max_tokens": 0}),
    "completions-suffix": (COMPLETIONS, {"prompt": "x", "suffix": "y"}),
    "messages-text": (MESSAGES, {"model": "m", "max_tokens": 9, "messages": HELLO}),
    "messages-system": (MESSAGES, {"model": "m", "max_tokens": 9, "system": "Be brief.", "messages": HELLO}),
    "messages-blocks": (
        MESSAGES,
        {
            "model": "m",
            "max_tokens": 9,
            "messages": [{"role": "user", "content": _PARTS}],
            "stop_sequences": ["X"],
        },
    ),
    "messages-no-max-tokens": (MESSAGES, {"model": "m", "messages": HELLO}),
    "responses-text": (RESPONSES, {"input": "Hello there"}),
    "responses-items": (RESPONSES, {"input": HELLO, "instructions": "Be brief.", "max_output_tokens": 9}),
    "responses-empty": (RESPONSES, {}),
    "tokenize-text": ("/tokenize", {"prompt": "Hello <|im_end|>", "return_token_strs": True}),
    "tokenize-chat": ("/tokenize", {"messages": HELLO}),
    "tokenize-plain": ("/tokenize", {"prompt": "Hello", "add_special_tokens": False}),
    "detokenize": ("/detokenize", {"tokens": [19556, 28, 2]}),
    "detokenize-none": ("/detokenize", {}),
    "models": ("GET /v1/models", None),
    "not-json": (CHAT, "{"),
    "not-an-object": (CHAT, "[]"),
    "null": (CHAT, "null"),
}

TOOL_REQUEST = chat(model="m", tools=[WEATHER, NOW])
_CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Zürich", "days": 2}}\n</tool_call>'
# name -> (text of the output, chat request)
DERENDER: dict[str, tuple[str, Body]] = {
    "text": ("The capital of France is Paris.", chat(model="m")),
    "unicode": ("Grüße 🙂👩‍👩‍👧 日本語 e\u0301 ok", chat(model="m")),
    "white-space": ("  two\n\n\n  lines \t", chat(model="m")),
    "call": (_CALL, TOOL_REQUEST),
    "call-after-text": ("Let me look.\n" + _CALL, TOOL_REQUEST),
    "two-calls": (_CALL + '\n<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>', TOOL_REQUEST),
    "no-call": ("No tool is needed, <b>really</b>.", TOOL_REQUEST),
    "call-without-tools": (_CALL, chat(model="m")),
    "call-choice-none": (_CALL, chat(model="m", tools=[WEATHER], tool_choice="none")),
    "like-a-call": ("<tool_cal", TOOL_REQUEST),
}

PROMPT = [1, 4093, 198, 1780, 314, 260, 3575, 282, 4649, 47, 2, 198, 1, 520, 9531, 198]


def generate(**fields: Any) -> Body:
    """A greedy generate request of four tokens; `fields` are sampling parameters."""
    return {"token_ids": PROMPT, "sampling_params": {"max_tokens": 4, "temperature": 0, **fields}}


GENERATE: dict[str, Body] = {
    "greedy": generate(max_tokens=16),
    "length": generate(),
    "ignore-eos": generate(max_tokens=12, ignore_eos=True),
    "stop-id": generate(stop_token_ids=[282]),
    "min-tokens": generate(max_tokens=12, min_tokens=10),
    "logprobs": generate(logprobs=2),
    "prompt-logprobs": generate(max_tokens=1, prompt_logprobs=1),
    "penalties": generate(max_tokens=12, repetition_penalty=1.3, presence_penalty=0.5, frequency_penalty=0.2),
    "logit-bias": generate(logit_bias={"282": 100}),
    "allowed": generate(allowed_token_ids=[5, 6, 7]),
    "n-greedy": generate(n=2),
    "max-tokens-0": generate(max_tokens=0),
    "too-long": generate(max_tokens=100000),
    "bad-top-p": generate(top_p=2),
    "bad-temperature": generate(temperature=-0.1),
    "unknown-parameter": generate(brand_new=1),
    "empty": {"token_ids": [], "sampling_params": {}},
    "no-ids": {"sampling_params": {}},
    "unknown-model": {**generate(), "model": "another"},
    "request-id": {**generate(), "request_id": "mine"},
    "return-ids": {**generate(), "return_token_ids": True},
    "stream": {**generate(), "stream": True},
    "stream-usage": {**generate(), "stream": True, "stream_options": {"include_usage": True}},
}
