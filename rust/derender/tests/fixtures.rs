//! The fixtures of every registered parser, and what holds for any output: the same message one-shot and for every way
//! to cut it, also where the output itself is cut short, and a small state.

mod support;

use dragoman_derender::{reasoning, tool};
use serde_json::{Value, json};
use support::fixtures::{Case, Fixture, output, read, serve, tokenizer};
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

/// What opens a thought in a fixture of a reasoning parser, with the prompt before it and the thought.
fn opened_thought(fixture: &Fixture) -> Option<(&str, &str, &str)> {
    fixture.case.iter().filter(|case| case.request.is_none()).find_map(|case| {
        let thought = Some(case.reasoning.trim()).filter(|thought| !thought.is_empty())?;
        let end = case.output.find(thought)? + thought.len();
        (end < case.output.len()).then_some((case.prompt.as_str(), &case.output[..end], thought))
    })
}

/// One call and nothing else, in a format that has a marker in front of its calls. A marker of which a special token is
/// a part (no model's vocabulary has that) is seen by the parser of its calls only.
fn marked_call(name: &str, fixture: &Fixture) -> Option<usize> {
    let tokenizer = tokenizer(&fixture.added, &fixture.special);
    let vocabulary = dragoman_tokenizer::Vocabulary::new(&tokenizer);
    let build = dragoman_derender::parse::Build { tokenizer: &tokenizer, vocabulary: &vocabulary };
    let openers = tool::build(name, build).expect("a parser").openers();
    fixture.case.iter().position(|case| {
        let plain = case.request.is_none() && case.prompt.is_empty() && case.engine == "stop";
        let alone = case.calls.len() == 1 && case.content.is_empty() && case.reasoning.is_empty();
        let whole =
            |opener: &str| fixture.special.iter().all(|token| token == opener || !opener.contains(token));
        plain && alone && openers.iter().any(|opener| whole(opener) && case.output.starts_with(opener))
    })
}

/// A model that calls a tool before it has closed its thought: the call is found, and the thought ends there.
#[test]
fn a_call_in_an_unclosed_thought_is_found_by_every_pair_of_parsers() {
    let mut pairs = 0;
    // Harmony has its own calls, and they have their own messages.
    for reasoning in reasoning::NAMES.iter().filter(|name| **name != "openai_gptoss") {
        let thoughts = read("reasoning", reasoning);
        let Some((prompt, opened, thought)) = opened_thought(&thoughts) else { continue };
        for name in tool::NAMES {
            let mut fixture = read("tool", name);
            let Some(place) = marked_call(name, &fixture) else { continue };
            fixture.with = Some((*reasoning).to_owned());
            for token in thoughts.special.iter().chain(&thoughts.added) {
                if !fixture.special.contains(token) && !fixture.added.contains(token) {
                    fixture.special.push(token.clone());
                }
            }
            let served = serve("tool", name, &fixture);
            let case = &mut fixture.case[place];
            case.output.insert_str(0, opened);
            case.prompt = prompt.to_owned();
            let output = output(case, &served);
            let message = Message::of_answer(&output.whole().expect("an answer"));
            assert_eq!(message.calls.len(), 1, "{reasoning} and {name}: {message:?}");
            assert_eq!(message.calls[0].1, case.calls[0].name, "{reasoning} and {name}");
            assert_eq!(message.reasoning.trim(), thought, "{reasoning} and {name}");
            assert_eq!(message.content.trim(), "", "{reasoning} and {name}");
            for size in [1, 5] {
                let (streamed, _) = output.streamed(&[size]).expect("a stream");
                assert_eq!(streamed, message, "{reasoning} and {name}, in chunks of {size}");
            }
            pairs += 1;
        }
    }
    assert!(pairs > 500, "{pairs} pairs");
}

/// Outputs of which one special token is doubled: beside the calls none of the format's tokens shows.
#[test]
fn tokens_of_a_format_do_not_leak_beside_a_call() {
    for name in tool::NAMES {
        let fixture = read("tool", name);
        let served = serve("tool", name, &fixture);
        let id = |token: &String| served.tokenizer.id(token).map(u64::from);
        // A tag of which a token is but a part is text.
        let special: Vec<(u64, &String)> = fixture
            .special
            .iter()
            .filter(|token| token.starts_with(['<', '[']))
            .filter_map(|token| Some((id(token)?, token)))
            .collect();
        for case in fixture.case.iter().filter(|case| !case.calls.is_empty() && case.request.is_none()) {
            let mut output = output(case, &served);
            let whole = output.ids.clone();
            let clean =
                |message: &Message| special.iter().all(|(_, token)| !message.content.contains(*token));
            if !clean(&Message::of_answer(&output.whole().expect("an answer"))) {
                continue;
            }
            for at in 0..whole.len() {
                if !special.iter().any(|(id, _)| whole[at].as_u64() == Some(*id)) {
                    continue;
                }
                output.ids.clone_from(&whole);
                output.ids.insert(at, whole[at].clone());
                let message = Message::of_answer(&output.whole().expect("an answer"));
                let lost = message.calls.is_empty();
                assert!(lost || clean(&message), "{name}, {}, doubled at {at}: {message:?}", case.name);
                let (streamed, _) = output.streamed(&[1]).expect("a stream");
                assert_eq!(streamed, message, "{name}, {}, doubled at {at}, streamed", case.name);
            }
        }
    }
}
