//! Time grows with the body, and not faster: four times as much takes well under sixteen times as long.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dragoman_derender::Derenderer;
use dragoman_protocol::ServingConfig;
use dragoman_tokenizer::Tokenizer;
use serde_json::{Value, json};

/// The id of the only special token, behind the letters.
const SPECIAL: usize = 26;

/// A tokenizer of the letters a to z and one special token.
fn derenderer() -> Derenderer {
    let vocabulary: serde_json::Map<String, Value> =
        ('a'..='z').enumerate().map(|(id, letter)| (letter.to_string(), json!(id))).collect();
    let byte_level =
        json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false});
    let text = json!({
        "version": "1.0", "truncation": null, "padding": null, "normalizer": null,
        "added_tokens": [{"id": SPECIAL, "content": "<s>", "special": true, "single_word": false, "lstrip": false,
            "rstrip": false, "normalized": false}],
        "pre_tokenizer": byte_level, "post_processor": null, "decoder": byte_level,
        "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "vocab": vocabulary, "merges": []},
    });
    let tokenizer = Arc::new(Tokenizer::from_bytes(text.to_string().as_bytes()).expect("a tokenizer"));
    let settings = json!({
        "served_model_names": ["m"], "max_model_len": 10_000_000, "vocab_size": 1_000_000, "max_logprobs": 20,
        "default_sampling": {}, "eos_token_ids": [], "chat_template_content_format": "auto",
        "default_chat_template_kwargs": {}, "trust_request_chat_template": false, "tool_call_parser": null,
        "reasoning_parser": null, "enable_auto_tool_choice": false, "tokens_only": false, "stream_state_key": vec![7u8; 16], "bounds": {},
    });
    let config = ServingConfig::from_json(settings.to_string().as_bytes()).expect("settings");
    Derenderer::new(tokenizer, Arc::new(config)).expect("a derenderer")
}

/// The shortest of some runs, for other work on the machine only adds to them.
fn shortest(derenderer: &Derenderer, body: &[u8]) -> Duration {
    let run = || {
        let start = Instant::now();
        derenderer.chat(body).expect("an answer");
        start.elapsed()
    };
    (0..5).map(|_| run()).min().unwrap_or_default()
}

fn check(what: &str, body: impl Fn(usize) -> Value) {
    let derenderer = derenderer();
    let time = |size: usize| shortest(&derenderer, body(size).to_string().as_bytes());
    let (small, large) = (time(2000), time(8000));
    assert!(large < small * 10 + Duration::from_millis(2), "{what}: {small:?}, then {large:?}");
}

fn body(ids: &[usize], request: &Value) -> Value {
    let mut chat = json!({"messages": [{"role": "user", "content": "x"}]});
    chat.as_object_mut().expect("an object").extend(request.as_object().expect("an object").clone());
    let choice = json!({"index": 0, "token_ids": ids, "finish_reason": "length"});
    json!({"chat_request": chat, "generate_response": {"request_id": "r", "choices": [choice]}})
}

#[test]
fn many_stop_ids_and_special_tokens() {
    check("stop ids", |size| {
        let ids: Vec<usize> = (0..size).map(|at| if at % 2 == 0 { SPECIAL } else { 1 }).collect();
        let stops: Vec<usize> = (100_000..100_000 + size).collect();
        body(&ids, &json!({"stop_token_ids": stops}))
    });
}

#[test]
fn a_long_stop_string_that_the_output_follows() {
    check("a long stop string", |size| {
        let stop = "a".repeat(size * 7) + "b";
        body(&vec![0; size], &json!({"stop": [stop]}))
    });
}

#[test]
fn many_stop_strings_of_one_letter() {
    check("stop strings", |size| {
        let stops: Vec<String> = (1..=4).map(|length| "a".repeat(length * size / 2) + "b").collect();
        body(&vec![0; size], &json!({"stop": stops}))
    });
}
