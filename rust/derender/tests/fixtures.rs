//! The fixtures of every registered parser, and what holds for any output: the same message one-shot and for every way
//! to cut it, also where the output itself is cut short, and a small state.

mod support;

use dragoman_derender::{reasoning, tool};
use serde_json::{Value, json};
use support::fixtures::{Case, output, read, serve, tokenizer};
use support::{Message, Output, Served};

/// Bytes of the largest `stream_state`.
const LARGEST_STATE: usize = 512;

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
        let (streamed, largest) = output.streamed(&[cut, usize::MAX]).expect("a stream");
        assert_eq!(streamed, message, "{name} cut at {cut}");
        assert!(largest <= LARGEST_STATE, "{name} cut at {cut}: a state of {largest} bytes");
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
        let fixture = read(kind, name);
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
        let fixture = read(kind, name);
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
