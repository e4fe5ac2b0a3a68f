//! States that no server wrote, behind a valid tag: for each parser, an answer or a 400, and never a panic.
//!
//! Real states are taken after a part of a fixture's output; bytes of them are replaced, and they are cut and lengthened.

mod support;

use std::cell::Cell;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use dragoman_derender::{reasoning, tool};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use support::fixtures::{Fixture, output, read, serve};
use support::{Output, Served};

/// Bytes of the tag in front of a state.
const TAG: usize = 16;

/// What is done to a state.
#[derive(Debug, Clone)]
struct Mutation {
    /// The case, and the part of its output that is derendered before, of 256.
    case: usize,
    before: u8,
    /// Places and what is put there.
    bytes: Vec<(usize, u8)>,
    /// A place where bytes are taken out, how many, and what stands there instead.
    cut: (usize, usize, Vec<u8>),
}

fn mutations() -> impl Strategy<Value = Mutation> {
    // Small numbers are lengths, booleans and variants; large ones are in none of these.
    let byte = prop_oneof![0..8u8, 0..=255u8, Just(0x7f), Just(0xff)];
    let cut = prop_oneof![
        3 => Just((0, 0, Vec::new())),
        1 => (any::<usize>(), 0..12usize, vec(0..=255u8, 0..12)),
    ];
    (any::<usize>(), any::<u8>(), vec((any::<usize>(), byte), 0..6), cut)
        .prop_map(|(case, before, bytes, cut)| Mutation { case, before, bytes, cut })
}

fn body(output: &Output<'_>, ids: &[Value], finish: &Value, state: &Value) -> Vec<u8> {
    let mut body = output.common.clone();
    let chunk = json!({"index": 0, "token_ids": ids, "finish_reason": finish});
    body.insert("stream".to_owned(), json!(true));
    body.insert("generate_chunk".to_owned(), json!({"request_id": "r", "choices": [chunk]}));
    body.insert("stream_state".to_owned(), state.clone());
    Value::Object(body).to_string().into_bytes()
}

/// The next state, or none where the server refuses the one that was sent.
fn next(output: &Output<'_>, ids: &[Value], finish: &Value, state: &Value) -> Option<Value> {
    match output.served.derenderer.chat(&body(output, ids, finish, state)) {
        Ok(answer) => {
            let mut answer: Value = serde_json::from_slice(&answer.body).expect("JSON");
            Some(answer["stream_state"].take())
        }
        Err(error) => {
            assert_ne!(error.kind(), "internal", "{error}");
            None
        }
    }
}

/// Whether the state is taken.
fn try_mutation(fixture: &Fixture, served: &Served, mutation: &Mutation) -> bool {
    let output = output(&fixture.case[mutation.case % fixture.case.len()], served);
    let count = output.ids.len() * usize::from(mutation.before) / 256;
    let (first, rest) = output.ids.split_at(count);
    let state = next(&output, first, &Value::Null, &Value::Null).expect("a state");
    let mut state = BASE64.decode(state["s"].as_str().expect("a state")).expect("base64").split_off(TAG);
    for &(place, byte) in &mutation.bytes {
        let length = state.len();
        state[place % length] = byte;
    }
    let (place, length, ref with) = mutation.cut;
    let place = place % (state.len() + 1);
    state.splice(place..(place + length).min(state.len()), with.iter().copied());
    let asked = body(&output, rest, &Value::Null, &Value::Null);
    let signed = served.derenderer.sign_chat_state(&asked, &state).expect("a body").expect("a chunk");
    let Some(state) = next(&output, rest, &Value::Null, &signed) else { return false };
    next(&output, first, &json!("stop"), &state);
    true
}

fn run(kind: &str, names: &[&str]) {
    for name in names {
        let fixture = read(kind, name);
        let served = serve(kind, name, &fixture);
        let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(256);
        let config = Config { cases, failure_persistence: None, ..Config::default() };
        let taken = Cell::new(0);
        let tried = TestRunner::new(config).run(&mutations(), |mutation| {
            taken.set(taken.get() + u32::from(try_mutation(&fixture, &served, &mutation)));
            Ok(())
        });
        if let Err(error) = tried {
            panic!("{kind}/{name}: {error}");
        }
        assert!(
            taken.get() > cases / 10,
            "{kind}/{name}: {} of {cases} states reach the parser",
            taken.get()
        );
    }
}

#[test]
fn no_state_brings_a_tool_parser_down() {
    run("tool", tool::NAMES);
}

#[test]
fn no_state_brings_a_reasoning_parser_down() {
    run("reasoning", reasoning::NAMES);
}

#[test]
fn the_state_that_a_server_wrote_is_what_it_signs() {
    let fixture = read("tool", "hermes");
    let served = serve("tool", "hermes", &fixture);
    let output = output(&fixture.case[0], &served);
    let state = next(&output, &output.ids, &Value::Null, &Value::Null).expect("a state");
    let bytes = BASE64.decode(state["s"].as_str().expect("a state")).expect("base64");
    let asked = body(&output, &[], &Value::Null, &Value::Null);
    let signed = served.derenderer.sign_chat_state(&asked, &bytes[TAG..]).expect("a body");
    assert_eq!(signed, Some(state));
}
