//! The fixtures of every registered parser, `tests/fixtures/{tool,reasoning}/NAME.toml`, and what holds for any output:
//! the same message one-shot and for every way to cut it, also where the output itself is cut short.
//!
//! The tokenizer is made here: one token for each byte, and the fixture's `added` and `special` tokens.

mod support;

use std::path::Path;
use std::sync::Arc;

use dragoman_derender::{Derenderer, reasoning, tool};
use dragoman_protocol::ServingConfig;
use dragoman_tokenizer::Tokenizer;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use support::{Message, Output, Served, root};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fixture {
    /// Where the outputs and their meaning come from.
    source: String,
    /// Tokens of the model's own that are not special.
    #[serde(default)]
    added: Vec<String>,
    #[serde(default)]
    special: Vec<String>,
    /// The parser of the other kind that runs with this one.
    #[serde(default)]
    with: Option<String>,
    case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    output: String,
    #[serde(default)]
    prompt: String,
    /// Members of the chat request, as JSON.
    #[serde(default)]
    request: Option<String>,
    #[serde(default)]
    content: String,
    #[serde(default)]
    reasoning: String,
    #[serde(default)]
    calls: Vec<Call>,
    #[serde(default = "stop")]
    engine: String,
    finish: Option<String>,
    /// Whether every truncation is tried: off for long outputs.
    #[serde(default = "yes")]
    truncations: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    name: String,
    arguments: String,
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

fn tokenizer(added: &[String], special: &[String]) -> Tokenizer {
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

fn serve(kind: &str, name: &str, fixture: &Fixture) -> Served {
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
        "enable_auto_tool_choice": true, "tokens_only": false, "bounds": {},
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

fn output<'s>(case: &Case, served: &'s Served) -> Output<'s> {
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

fn check(case: &Case, served: &Served) {
    let mut output = output(case, served);
    let name = &case.name;
    let message = Message::of_answer(&output.whole().expect("an answer"));
    assert_eq!(message.content.trim(), case.content.trim(), "content of {name}");
    assert_eq!(message.reasoning.trim(), case.reasoning.trim(), "reasoning of {name}");
    let value =
        |text: &str| serde_json::from_str::<Value>(text).unwrap_or_else(|_| json!({"not JSON": text}));
    let calls: Vec<_> = case.calls.iter().map(|call| (call.name.clone(), value(&call.arguments))).collect();
    assert_eq!(message.values(), calls, "calls of {name}");
    let called = !calls.is_empty() && case.engine == "stop";
    let finish =
        case.finish.clone().unwrap_or(if called { "tool_calls".to_owned() } else { case.engine.clone() });
    assert_eq!(message.finish_reason, json!(finish), "finish reason of {name}");

    let count = output.ids.len();
    for cut in 0..=count {
        let (streamed, _) = output.streamed(&[cut, usize::MAX]).expect("a stream");
        assert_eq!(streamed, message, "{name} cut at {cut}");
    }
    let random: Vec<usize> = (0..count).map(|place| 1 + (place * 7919 + 31) % 6).collect();
    for sizes in [&[1][..], &[2], &[3], &[7], &random] {
        let (streamed, _) = output.streamed(sizes).expect("a stream");
        assert_eq!(streamed, message, "{name} in chunks of {sizes:?}");
    }
    let whole = output.ids.clone();
    output.ids.push(json!(served.eos[0]));
    if case.engine == "stop" {
        assert_eq!(Message::of_answer(&output.whole().expect("an answer")), message, "{name} with its end");
        assert_eq!(output.streamed(&[1]).expect("a stream").0, message, "{name} with its end, streamed");
    }
    if !case.truncations {
        return;
    }
    output.ids.clone_from(&whole);
    output.finish_reason = json!("length");
    let streams = [1, 3].map(|size| (size, output.streamed_prefixes(size).expect("a stream")));
    for length in 1..count {
        output.ids = whole[..length].to_vec();
        let short = Message::of_answer(&output.whole().expect("an answer"));
        for (size, streams) in &streams {
            let streamed = &streams[length - 1];
            assert_eq!(*streamed, short, "{name} cut short at {length}, in chunks of {size}");
        }
        let finish = if short.stop_reason.is_null() { "length" } else { "stop" };
        assert_eq!(short.finish_reason, finish, "{name} cut short at {length}");
    }
}

fn run(kind: &str, names: &[&str]) {
    for name in names {
        let path = root().join(format!("tests/fixtures/{kind}/{name}.toml"));
        let fixture = read(&path);
        assert!(!fixture.source.trim().is_empty(), "{name}: where do the cases come from?");
        let served = serve(kind, name, &fixture);
        for case in &fixture.case {
            check(case, &served);
        }
    }
}

/// Outputs that no model writes: slices of the cases' outputs, one behind another. They have one answer too.
fn mix(kind: &str, names: &[&str]) {
    let rounds = std::env::var("DRAGOMAN_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(40);
    for name in names {
        let fixture = read(&root().join(format!("tests/fixtures/{kind}/{name}.toml")));
        let served = serve(kind, name, &fixture);
        let outputs: Vec<_> = fixture.case.iter().map(|case| output(case, &served)).collect();
        // A fixed sequence: the same numbers in every run (Knuth's MMIX generator).
        let mut seed = 0x2545_f491_4f6c_dd1d_u64;
        let mut next = |bound: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(seed >> 33).expect("a small number") % bound.max(1)
        };
        for round in 0..rounds {
            let mut mixed = output(&fixture.case[next(fixture.case.len())], &served);
            mixed.ids.clear();
            for _ in 0..2 + next(4) {
                let ids = &outputs[next(outputs.len())].ids;
                let (one, other) = (next(ids.len() + 1), next(ids.len() + 1));
                mixed.ids.extend_from_slice(&ids[one.min(other)..one.max(other)]);
            }
            if mixed.ids.is_empty() {
                continue;
            }
            let message = Message::of_answer(&mixed.whole().expect("an answer"));
            let sizes = [1 + next(9), 1 + next(9), 1 + next(5)];
            for sizes in [&[1][..], &sizes] {
                let (streamed, _) = mixed.streamed(sizes).expect("a stream");
                let text = || served.tokenizer.decode(&ids(&mixed), false).expect("text");
                assert_eq!(streamed, message, "{name}, round {round}, in chunks of {sizes:?}: {}", text());
            }
        }
    }
}

fn ids(output: &Output<'_>) -> Vec<u32> {
    output.ids.iter().filter_map(Value::as_u64).map(|id| u32::try_from(id).expect("an id")).collect()
}

#[test]
fn any_mix_of_outputs_has_one_answer() {
    mix("tool", tool::NAMES);
    mix("reasoning", reasoning::NAMES);
}

fn read(path: &Path) -> Fixture {
    let text = std::fs::read_to_string(path)
        .unwrap_or_else(|_| panic!("a registered parser has no fixtures: {}", path.display()));
    toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn tool_fixtures_hold_however_they_are_cut() {
    run("tool", tool::NAMES);
}

#[test]
fn reasoning_fixtures_hold_however_they_are_cut() {
    run("reasoning", reasoning::NAMES);
}

#[test]
fn every_registered_name_builds_and_no_other() {
    let tokenizer = tokenizer(&[], &[]);
    let vocabulary = dragoman_tokenizer::Vocabulary::new(&tokenizer);
    let build = dragoman_derender::parse::Build { tokenizer: &tokenizer, vocabulary: &vocabulary };
    assert!(tool::NAMES.iter().all(|name| tool::build(name, build).is_some()));
    assert!(reasoning::NAMES.iter().all(|name| reasoning::build(name, &[], build).is_some()));
    assert!(tool::build("no-such-parser", build).is_none());
}
