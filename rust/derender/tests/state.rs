//! The stream's state: bound to its stream, small, and read as untrusted input.

mod support;

use std::sync::Arc;

use dragoman_derender::Derenderer;
use dragoman_protocol::ServingConfig;
use dragoman_tokenizer::Tokenizer;
use serde_json::{Value, json};

/// A tokenizer of the 95 printable ASCII characters, the line feed and a tag.
fn derenderer(tool: Option<&str>) -> Derenderer {
    let mut vocabulary = serde_json::Map::new();
    for (id, character) in (0x21..0x7fu8).map(char::from).chain(['Ġ', 'Ċ']).enumerate() {
        vocabulary.insert(character.to_string(), json!(id));
    }
    let byte_level =
        json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false});
    let text = json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
        "pre_tokenizer": byte_level, "post_processor": null, "decoder": byte_level,
        "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "vocab": vocabulary, "merges": []},
    });
    let tokenizer = Arc::new(Tokenizer::from_bytes(text.to_string().as_bytes()).expect("a tokenizer"));
    let settings = json!({
        "served_model_names": ["m"], "max_model_len": 1_000_000, "vocab_size": 1000, "max_logprobs": 20,
        "default_sampling": {}, "eos_token_ids": [], "chat_template_content_format": "auto",
        "default_chat_template_kwargs": {}, "trust_request_chat_template": false, "tool_call_parser": tool,
        "reasoning_parser": tool.map(|_| "qwen3"), "enable_auto_tool_choice": true, "tokens_only": false, "stream_state_key": vec![7u8; 16],
        "bounds": {},
    });
    let config = ServingConfig::from_json(settings.to_string().as_bytes()).expect("settings");
    Derenderer::new(tokenizer, Arc::new(config)).expect("a derenderer")
}

fn ids(text: &str) -> Vec<u32> {
    let id = |byte: u8| match byte {
        b' ' => 94,
        b'\n' => 95,
        byte => u32::from(byte) - 0x21,
    };
    text.bytes().map(id).collect()
}

fn body(text: &str, request_id: &str, index: i64, tools: &str, state: &Value) -> Vec<u8> {
    json!({
        "stream": true, "stream_state": state, "prompt_token_ids": ids("<think>"),
        "chat_request": {"messages": [{"role": "user", "content": "x"}],
            "tools": [{"type": "function", "function": {"name": tools}}]},
        "generate_chunk": {"request_id": request_id, "choices": [{"index": index, "token_ids": ids(text)}]},
    })
    .to_string()
    .into_bytes()
}

fn answer(derenderer: &Derenderer, body: &[u8]) -> Value {
    serde_json::from_slice(&derenderer.chat(body).expect("an answer").body).expect("JSON")
}

#[test]
fn a_state_serves_its_own_stream_only() {
    let hermes = derenderer(Some("hermes"));
    let first = body("plan</think>see <tool_call>{\"name\": \"f", "r", 0, "f", &Value::Null);
    let state = answer(&hermes, &first)["stream_state"].clone();
    let next = |request_id: &str, index: i64, tools: &str| body("\"}", request_id, index, tools, &state);
    assert!(hermes.chat(&next("r", 0, "f")).is_ok());
    for (what, other) in
        [("request", next("s", 0, "f")), ("choice", next("r", 1, "f")), ("tools", next("r", 0, "g"))]
    {
        let error = hermes.chat(&other).expect_err(what);
        assert_eq!(error.param(), Some("stream_state"), "{what}: {error}");
    }
    let error = derenderer(None).chat(&next("r", 0, "f")).expect_err("another server");
    assert_eq!(error.param(), Some("stream_state"));
}

#[test]
fn the_same_call_gives_the_same_answer() {
    let hermes = derenderer(Some("hermes"));
    let text = "</think><tool_call>{\"name\": \"f\"}</tool_call>";
    let chunk = body(text, "r", 0, "f", &Value::Null);
    let (mut once, mut again) = (answer(&hermes, &chunk), answer(&hermes, &chunk));
    for answer in [&mut once, &mut again] {
        answer["chunk"]["created"] = Value::Null;
    }
    assert_eq!(once, again);
    let id = |request_id: &str| {
        let answer = answer(&hermes, &body(text, request_id, 0, "f", &Value::Null));
        answer["chunk"]["choices"][0]["delta"]["tool_calls"][0]["id"].clone()
    };
    assert!(id("r").is_string());
    assert_ne!(id("r"), id("s"));
}

#[test]
fn an_altered_or_cut_state_is_refused() {
    let hermes = derenderer(Some("hermes"));
    let first = body("plan</think>see <tool", "r", 0, "f", &Value::Null);
    let state = answer(&hermes, &first)["stream_state"].clone();
    let text = state["s"].as_str().expect("a state").to_owned();
    let refused = |changed: &str| {
        let state = json!({"v": 1, "s": changed});
        hermes.chat(&body("x", "r", 0, "f", &state)).is_err()
    };
    for place in 0..text.len() {
        let mut bytes = text.clone().into_bytes();
        bytes[place] = if bytes[place] == b'A' { b'B' } else { b'A' };
        assert!(refused(std::str::from_utf8(&bytes).expect("ASCII")), "altered at {place}");
        assert!(refused(&text[..place]), "cut at {place}");
    }
    assert!(refused(&format!("{text}AAAA")));
    assert!(hermes.chat(&body("x", "r", 0, "f", &json!({"v": 2, "s": text}))).is_err());
    assert!(hermes.chat(&body("x", "r", 0, "f", &json!({"v": 1, "s": "A".repeat(1 << 20)}))).is_err());
}

#[test]
fn a_state_does_not_grow_with_the_output() {
    let hermes = derenderer(Some("hermes"));
    let mut state = Value::Null;
    let mut step = |text: &str| {
        let answer = answer(&hermes, &body(text, "r", 0, "f", &state));
        state = answer["stream_state"].clone();
        state.to_string().len()
    };
    assert!(step(&"thought ".repeat(5000)) <= 512);
    assert!(step("</think>") <= 512);
    assert!(step(&"word < word ".repeat(5000)) <= 512);
    assert!(step("<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"") <= 512);
    assert!(step(&"x".repeat(50_000)) <= 512);
    // Nesting is remembered, one bit a level.
    assert!(step(&format!("\", \"b\": {}", "[".repeat(1000))) <= 512);
}

/// A value that the schema types as a list goes out as it comes, however long it is.
#[test]
fn a_state_does_not_grow_with_a_typed_argument() {
    let coder = derenderer(Some("qwen3_coder"));
    let tools = json!([{"type": "function", "function": {"name": "f", "parameters":
        {"type": "object", "properties": {"legs": {"type": "array"}}}}}]);
    let (mut state, mut arguments) = (Value::Null, String::new());
    let mut step = |text: &str| {
        let body = body(text, "r", 0, "f", &state);
        let mut body: Value = serde_json::from_slice(&body).expect("JSON");
        body["chat_request"]["tools"] = tools.clone();
        let answer = answer(&coder, body.to_string().as_bytes());
        state = answer["stream_state"].clone();
        let calls = answer["chunk"]["choices"][0]["delta"]["tool_calls"].as_array().cloned();
        for call in calls.into_iter().flatten() {
            arguments.push_str(call["function"]["arguments"].as_str().unwrap_or_default());
        }
        state.to_string().len()
    };
    step("</think><tool_call>\n<function=f>\n<parameter=legs>\n[{\"from\": \"OSL\"}");
    for _ in 0..10 {
        assert!(step(&", {\"to\": True}".repeat(2000)) <= 512);
    }
    step(",]\n</parameter>\n</function>\n</tool_call>");
    let arguments: Value = serde_json::from_str(&arguments).expect("JSON");
    assert_eq!(arguments["legs"].as_array().map(Vec::len), Some(20_001));
    assert_eq!(arguments["legs"][20_000], json!({"to": true}));
}

#[test]
fn a_stream_that_another_server_began_is_refused() {
    let plain = derenderer(None);
    let state = |tokens: Value, role_sent: bool| {
        json!({"prev_tokens": tokens, "prefix_offset": 0, "read_offset": 0, "role_sent": role_sent,
            "output_token_ids": [], "output_chunk_lens": []})
    };
    assert!(plain.chat(&body("x", "r", 0, "f", &state(json!([]), false))).is_ok());
    for begun in [state(json!(["a"]), false), state(json!([]), true)] {
        let error = plain.chat(&body("x", "r", 0, "f", &begun)).expect_err("a stream that has begun");
        assert_eq!(error.param(), Some("stream_state"));
        assert!(error.to_string().contains("another server"), "{error}");
    }
}
