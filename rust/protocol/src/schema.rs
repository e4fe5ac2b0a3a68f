//! JSON schemas of the hot routes, for the OpenAPI page: the fields that the readers in this crate read.

use serde_json::{Map, Value, json};

/// `{path: {"request": schema, "response": schema}}`, self-contained.
#[must_use]
pub fn schemas() -> Value {
    let render = |request: Value, response: Value| json!({"request": request, "response": response});
    let generate = generate_request();
    json!({
        "/v1/chat/completions/render": render(chat_request(), generate.clone()),
        "/v1/completions/render": render(completion_request(), json!({"type": "array", "items": generate})),
        "/v1/messages/render": render(messages_request(), generate.clone()),
        "/v1/responses/render": render(responses_request(), generate.clone()),
        "/v1/chat/completions/derender": render(derender_request("chat_request", chat_request(), false), object()),
        "/v1/completions/derender":
            render(derender_request("completion_request", completion_request(), true), object()),
        "/tokenize": render(tokenize_request(), tokenize_response()),
        "/detokenize": render(
            record(&["tokens"], &[("model", nullable(string())), ("tokens", ids())]),
            record(&["prompt"], &[("prompt", string())]),
        ),
        "/inference/v1/generate": render(generate, generate_response("choices", true)),
    })
}

fn string() -> Value {
    json!({"type": "string"})
}

fn boolean() -> Value {
    json!({"type": "boolean"})
}

fn integer() -> Value {
    json!({"type": "integer"})
}

fn number() -> Value {
    json!({"type": "number"})
}

fn object() -> Value {
    json!({"type": "object", "additionalProperties": true})
}

fn list(items: &Value) -> Value {
    json!({"type": "array", "items": items})
}

fn ids() -> Value {
    json!({"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": u32::MAX}})
}

#[expect(clippy::needless_pass_by_value, reason = "schemas are built inside out")]
fn nullable(schema: Value) -> Value {
    json!({"anyOf": [schema, {"type": "null"}]})
}

fn one_of(words: &[&str]) -> Value {
    json!({"type": "string", "enum": words})
}

fn record(required: &[&str], fields: &[(&str, Value)]) -> Value {
    let properties: Map<String, Value> =
        fields.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    json!({"type": "object", "required": required, "properties": properties, "additionalProperties": true})
}

/// The fields that [`crate::Generation`] reads.
fn generation_fields() -> Vec<(&'static str, Value)> {
    let mut fields = vec![
        ("model", nullable(string())),
        ("request_id", string()),
        ("n", json!({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}], "default": 1})),
        ("seed", nullable(json!({"type": "integer", "minimum": i64::MIN, "maximum": i64::MAX}))),
        (
            "stop",
            json!({"anyOf": [string(), {"type": "array", "items": string(), "maxItems": 4}, {"type": "null"}]}),
        ),
        ("stop_token_ids", nullable(list(&integer()))),
        ("logit_bias", nullable(json!({"type": "object", "additionalProperties": number()}))),
        ("logprob_token_ids", nullable(list(&integer()))),
        ("allowed_token_ids", nullable(list(&integer()))),
        ("bad_words", list(&string())),
        ("structured_outputs", nullable(object())),
        ("response_format", nullable(object())),
        ("repetition_detection", nullable(object())),
        ("vllm_xargs", nullable(object())),
        ("kv_transfer_params", nullable(object())),
        ("ec_transfer_params", nullable(object())),
        ("truncate_prompt_tokens", nullable(json!({"type": "integer", "minimum": -1}))),
        ("truncation_side", nullable(one_of(&["left", "right"]))),
        ("stream_options", nullable(stream_options())),
        ("cache_salt", nullable(json!({"type": "string", "minLength": 1, "maxLength": 1024}))),
        ("priority", json!({"type": "integer", "default": 0})),
        ("min_tokens", json!({"type": "integer", "minimum": 0, "default": 0})),
    ];
    let optional_numbers =
        ["frequency_penalty", "presence_penalty", "repetition_penalty", "temperature", "top_p", "min_p"];
    fields.extend(optional_numbers.map(|name| (name, nullable(number()))));
    let optional_integers = ["max_tokens", "top_k", "prompt_logprobs", "thinking_token_budget"];
    fields.extend(optional_integers.map(|name| (name, nullable(integer()))));
    let switches = [
        ("ignore_eos", false),
        ("include_stop_str_in_output", false),
        ("skip_special_tokens", true),
        ("spaces_between_special_tokens", true),
        ("use_beam_search", false),
    ];
    fields.extend(switches.map(|(name, default)| (name, json!({"type": "boolean", "default": default}))));
    fields.extend(
        ["stream", "return_token_ids", "return_token_offsets"].map(|name| (name, nullable(boolean()))),
    );
    fields
}

fn stream_options() -> Value {
    let switch = || nullable(boolean());
    record(&[], &[("include_usage", switch()), ("continuous_usage_stats", switch())])
}

fn message() -> Value {
    let call = record(
        &["id", "function"],
        &[
            ("id", string()),
            ("type", one_of(&["function"])),
            (
                "function",
                record(
                    &["name", "arguments"],
                    &[
                        ("name", string()),
                        ("arguments", json!({"anyOf": [string(), object(), {"type": "null"}]})),
                    ],
                ),
            ),
        ],
    );
    record(
        &["role"],
        &[
            ("role", string()),
            ("content", json!({"anyOf": [string(), list(&object()), {"type": "null"}]})),
            ("name", nullable(string())),
            ("tool_calls", nullable(list(&call))),
            ("tool_call_id", nullable(string())),
            ("reasoning", nullable(string())),
            ("reasoning_content", nullable(string())),
        ],
    )
}

fn chat_request() -> Value {
    let function = record(
        &["name"],
        &[
            ("name", string()),
            ("description", nullable(string())),
            ("parameters", nullable(object())),
            ("strict", nullable(boolean())),
        ],
    );
    let tool = record(&["function"], &[("type", one_of(&["function"])), ("function", function)]);
    let mut fields = vec![("messages", list(&message())), ("tools", nullable(list(&tool)))];
    fields.extend(generation_fields());
    fields.extend([
        ("max_completion_tokens", nullable(integer())),
        ("logprobs", nullable(boolean())),
        ("top_logprobs", nullable(integer())),
        (
            "tool_choice",
            json!({"anyOf": [one_of(&["none", "auto", "required"]), object(), {"type": "null"}]}),
        ),
        ("reasoning_effort", nullable(one_of(&["none", "minimal", "low", "medium", "high", "xhigh", "max"]))),
        ("include_reasoning", json!({"type": "boolean", "default": true})),
        ("parallel_tool_calls", nullable(boolean())),
        ("echo", json!({"type": "boolean", "default": false})),
        ("add_generation_prompt", json!({"type": "boolean", "default": true})),
        ("continue_final_message", json!({"type": "boolean", "default": false})),
        ("add_special_tokens", json!({"type": "boolean", "default": false})),
        ("documents", nullable(list(&object()))),
        ("chat_template", nullable(string())),
        ("chat_template_kwargs", nullable(object())),
        ("return_assistant_tokens_mask", nullable(boolean())),
        ("output_mode", one_of(&["tokens", "text", "derender"])),
    ]);
    record(&["messages"], &fields)
}

fn completion_request() -> Value {
    let prompt = json!({"anyOf": [ids(), list(&ids()), string(), list(&string())]});
    let mut fields = vec![("prompt", prompt)];
    fields.extend(generation_fields());
    fields.extend([
        ("echo", nullable(boolean())),
        ("logprobs", nullable(integer())),
        ("suffix", nullable(string())),
        ("add_special_tokens", json!({"type": "boolean", "default": true})),
    ]);
    record(&[], &fields)
}

fn messages_request() -> Value {
    let content = json!({"anyOf": [string(), list(&record(&["type"], &[("type", string())]))]});
    let turn = record(
        &["role", "content"],
        &[("role", one_of(&["user", "assistant", "system"])), ("content", content.clone())],
    );
    record(
        &["model", "messages", "max_tokens"],
        &[
            ("model", string()),
            ("messages", list(&turn)),
            ("max_tokens", integer()),
            ("system", nullable(content)),
            ("stop_sequences", nullable(list(&string()))),
            ("stream", nullable(boolean())),
            ("temperature", nullable(number())),
            ("top_k", nullable(integer())),
            ("top_p", nullable(number())),
            ("thinking", nullable(object())),
            ("output_config", nullable(object())),
            (
                "tools",
                nullable(list(&record(
                    &["name", "input_schema"],
                    &[("name", string()), ("input_schema", object())],
                ))),
            ),
            (
                "tool_choice",
                nullable(record(&["type"], &[("type", one_of(&["auto", "any", "tool", "none"]))])),
            ),
        ],
    )
}

fn responses_request() -> Value {
    record(
        &["input"],
        &[
            ("model", nullable(string())),
            ("input", json!({"anyOf": [string(), list(&object())]})),
            ("instructions", nullable(string())),
            ("max_output_tokens", nullable(integer())),
            ("temperature", nullable(number())),
            ("top_p", nullable(number())),
            ("reasoning", nullable(object())),
            ("text", nullable(object())),
            ("tools", nullable(list(&object()))),
            ("tool_choice", json!({"anyOf": [string(), object(), {"type": "null"}]})),
            ("truncation", nullable(one_of(&["auto", "disabled"]))),
            ("stream", nullable(boolean())),
        ],
    )
}

fn tokenize_request() -> Value {
    let common = || [("model", nullable(string())), ("return_token_strs", nullable(boolean()))];
    let mut prompt =
        vec![("prompt", string()), ("add_special_tokens", json!({"type": "boolean", "default": true}))];
    prompt.extend(common());
    let mut chat = vec![("messages", list(&message())), ("tools", nullable(list(&object())))];
    chat.extend(common());
    json!({"anyOf": [record(&["prompt"], &prompt), record(&["messages"], &chat)]})
}

fn tokenize_response() -> Value {
    record(
        &["count", "max_model_len", "tokens"],
        &[
            ("count", integer()),
            ("max_model_len", integer()),
            ("tokens", ids()),
            ("token_strs", nullable(list(&string()))),
        ],
    )
}

fn generate_request() -> Value {
    record(
        &["token_ids", "sampling_params"],
        &[
            ("request_id", string()),
            (
                "token_ids",
                json!({"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1}),
            ),
            ("token_offsets", nullable(list(&list(&integer())))),
            ("assistant_tokens_mask", nullable(list(&json!({"type": "integer", "enum": [0, 1]})))),
            ("features", nullable(object())),
            ("content_parts", nullable(list(&object()))),
            ("sampling_params", object()),
            ("model", nullable(string())),
            ("reasoning_ended", nullable(boolean())),
            ("reasoning_parser_kwargs", nullable(object())),
            ("return_token_ids", nullable(boolean())),
            ("output_mode", one_of(&["tokens", "text", "derender"])),
            ("stream", nullable(boolean())),
            ("stream_options", nullable(stream_options())),
            ("cache_salt", nullable(json!({"type": "string", "minLength": 1, "maxLength": 1024}))),
            ("priority", json!({"type": "integer", "default": 0})),
            ("kv_transfer_params", nullable(object())),
            ("ec_transfer_params", nullable(object())),
        ],
    )
}

/// A generate response, or one event of its stream.
fn generate_response(choices: &str, whole: bool) -> Value {
    let choice = record(
        &["index"],
        &[
            ("index", integer()),
            ("finish_reason", nullable(string())),
            ("stop_reason", json!({"anyOf": [integer(), string(), {"type": "null"}]})),
            ("token_ids", nullable(ids())),
            ("logprobs", nullable(object())),
            ("weight_versions", nullable(list(&object()))),
        ],
    );
    let mut fields = vec![
        ("request_id", string()),
        ("usage", nullable(object())),
        ("prompt_token_ids", nullable(ids())),
        (choices, list(&choice)),
    ];
    if whole {
        fields.extend([("model", nullable(string())), ("created", nullable(integer()))]);
        fields.push(("prompt_logprobs", nullable(list(&nullable(object())))));
    }
    record(&[choices], &fields)
}

fn derender_request(name: &str, request: Value, several: bool) -> Value {
    let each = |schema: Value| if several { list(&schema) } else { schema };
    let response = if several { "generate_responses" } else { "generate_response" };
    let whole = record(
        &[response],
        &[
            ("stream", json!({"type": "boolean", "const": false, "default": false})),
            ("model", nullable(string())),
            (response, each(generate_response("choices", true))),
            ("prompt_tokens", nullable(each(integer()))),
            ("prompt_token_ids", nullable(each(ids()))),
            (name, nullable(request.clone())),
        ],
    );
    let chunk = record(
        &["stream", "generate_chunk"],
        &[
            ("stream", json!({"type": "boolean", "const": true})),
            ("model", nullable(string())),
            ("generate_chunk", generate_response("choices", false)),
            ("stream_state", nullable(object())),
            ("prompt_tokens", nullable(integer())),
            ("prompt_token_ids", nullable(ids())),
            (name, nullable(request)),
        ],
    );
    json!({"anyOf": [whole, chunk]})
}
