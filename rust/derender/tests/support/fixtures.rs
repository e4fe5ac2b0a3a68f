//! The fixtures of the registered parsers: `tests/fixtures/{tool,reasoning}/NAME.toml`.
//!
//! The tokenizer is made here: one token for each byte, and the fixture's `added` and `special` tokens.

use std::sync::Arc;

use dragoman_derender::Derenderer;
use dragoman_protocol::ServingConfig;
use dragoman_tokenizer::Tokenizer;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Output, Served, root};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fixture {
    /// Where the outputs and their meaning come from.
    pub source: String,
    /// Tokens of the model's own that are not special.
    #[serde(default)]
    pub added: Vec<String>,
    #[serde(default)]
    pub special: Vec<String>,
    /// The parser of the other kind that runs with this one.
    #[serde(default)]
    pub with: Option<String>,
    pub case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub name: String,
    pub output: String,
    #[serde(default)]
    pub prompt: String,
    /// Members of the chat request, as JSON.
    #[serde(default)]
    pub request: Option<String>,
    #[serde(default)]
    pub content: String,
    #[serde(default)]
    pub reasoning: String,
    #[serde(default)]
    pub calls: Vec<Call>,
    #[serde(default = "stop")]
    pub engine: String,
    pub finish: Option<String>,
    /// Whether every truncation is tried: off for long outputs.
    #[serde(default = "yes")]
    pub truncations: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    pub name: String,
    pub arguments: String,
}

fn stop() -> String {
    "stop".to_owned()
}

fn yes() -> bool {
    true
}

/// The characters of the byte-level alphabet, in the order of the bytes (GPT-2's table).
fn alphabet() -> Vec<char> {
    let printable = |byte: u32| matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    let mut next = 0x100;
    let character = |byte: u32| {
        let code = if printable(byte) {
            byte
        } else {
            next += 1;
            next - 1
        };
        char::from_u32(code).expect("a character")
    };
    (0..256).map(character).collect()
}

pub fn tokenizer(added: &[String], special: &[String]) -> Tokenizer {
    let vocabulary: Map<String, Value> = alphabet()
        .into_iter()
        .enumerate()
        .map(|(id, character)| (character.to_string(), json!(id)))
        .collect();
    let tokens = added.iter().map(|token| (token, false)).chain(special.iter().map(|token| (token, true)));
    let token = |(place, (content, special)): (usize, (&String, bool))| {
        json!({"id": 256 + place, "content": content, "special": special, "single_word": false,
            "lstrip": false, "rstrip": false, "normalized": false})
    };
    let tokens: Vec<Value> = tokens.enumerate().map(token).collect();
    let byte_level =
        json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false});
    let text = json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": tokens, "normalizer": null,
        "pre_tokenizer": byte_level, "post_processor": null, "decoder": byte_level,
        "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "vocab": vocabulary, "merges": []},
    });
    Tokenizer::from_bytes(text.to_string().as_bytes()).expect("a tokenizer")
}

pub fn serve(kind: &str, name: &str, fixture: &Fixture) -> Served {
    let mut special = fixture.special.clone();
    special.push("<|end|>".to_owned());
    let tokenizer = Arc::new(tokenizer(&fixture.added, &special));
    let (tool, reasoning) = match kind {
        "tool" => (json!(name), json!(fixture.with)),
        _ => (json!(fixture.with), json!(name)),
    };
    let eos = tokenizer.id("<|end|>").expect("the end");
    let settings = json!({
        "served_model_names": ["m"], "max_model_len": 100_000, "vocab_size": tokenizer.vocab_size(),
        "max_logprobs": 20, "default_sampling": {}, "eos_token_ids": [eos],
        "chat_template_content_format": "auto", "default_chat_template_kwargs": {},
        "trust_request_chat_template": false, "tool_call_parser": tool, "reasoning_parser": reasoning,
        "enable_auto_tool_choice": true, "tokens_only": false, "stream_state_key": vec![7u8; 16], "bounds": {},
    });
    let config = ServingConfig::from_json(settings.to_string().as_bytes()).expect("settings");
    let derenderer = Derenderer::new(Arc::clone(&tokenizer), Arc::new(config)).expect("a derenderer");
    Served { derenderer, eos: vec![eos], tokenizer }
}

/// The tools that the cases of the shared data use too.
fn tools() -> Value {
    let tool = |name: &str, properties: Value| {
        json!({"type": "function", "function": {"name": name, "parameters":
            {"type": "object", "properties": properties}}})
    };
    json!([
        tool(
            "get_weather",
            json!({"city": {"type": "string"}, "days": {"type": "integer"},
            "unit": {"type": "string"}, "hourly": {"type": "boolean"}})
        ),
        tool(
            "search_docs",
            json!({"query": {"type": "string"}, "limit": {"type": "integer"},
            "boost": {"type": "number"}, "exact": {"type": "boolean"}, "filters": {"type": "object"}})
        ),
        tool("run_code", json!({"code": {"type": "string"}, "lang": {"type": "string"}})),
        tool("led_on", json!({})),
        tool("book_trip", json!({"legs": {"type": "array"}, "traveller": {"type": "object"}})),
    ])
}

pub fn output<'s>(case: &Case, served: &'s Served) -> Output<'s> {
    let ids = |text: &str| -> Vec<Value> {
        let encoding = served.tokenizer.encode(text, false, false).expect("ids");
        encoding.ids.into_iter().map(Value::from).collect()
    };
    let mut request = json!({"model": "m", "messages": [{"role": "user", "content": "x"}], "tools": tools()});
    if let Some(members) = &case.request {
        let members: Map<String, Value> = serde_json::from_str(members).expect("members of a request");
        request.as_object_mut().expect("an object").extend(members);
    }
    let common = json!({"model": "m", "chat_request": request, "prompt_token_ids": ids(&case.prompt)});
    Output {
        ids: ids(&case.output),
        finish_reason: json!(case.engine),
        stop_reason: Value::Null,
        common: common.as_object().cloned().expect("an object"),
        served,
    }
}

/// The fixture of a registered parser: `kind` is `tool` or `reasoning`.
pub fn read(kind: &str, name: &str) -> Fixture {
    let path = root().join(format!("tests/fixtures/{kind}/{name}.toml"));
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|_| panic!("a registered parser has no fixtures: {}", path.display()));
    toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
