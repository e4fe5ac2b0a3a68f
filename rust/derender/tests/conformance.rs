//! Every case of `../shared/conformance/derender` whose parsers are registered.
//!
//! `DRAGOMAN_CASES=hermes__qwen3__qwen3/one_call cargo test -p dragoman-derender --test conformance -- --nocapture`
//! runs the cases whose names contain the text, or one of several between commas, and says what differs.

mod support;

use std::num::NonZero;
use std::thread;

use serde_json::{Value, json};
use support::differences::Differences;
use support::{
    Message, Models, Output, ParserFile, Served, bug_files, is_wanted, parser_files, shared, squeezed,
};

/// What is wrong with a case, if anything.
fn check(case: &Value, served: &Served) -> Result<(), String> {
    let Some(mut output) = Output::of_case(case, served) else { return Ok(()) };
    let whole = output.whole();
    let refused = case["response"]["status"].as_u64().is_some_and(|status| status >= 400);
    let suspect = !case["suspect"].is_null();
    let message = match (&whole, refused) {
        (Ok(choice), false) => Message::of_answer(choice),
        (Err(_), true) => return Ok(()),
        (Ok(choice), true) if suspect => Message::of_answer(choice),
        (Err(_), false) if suspect => return Ok(()),
        (Ok(_), true) => return Err("the reference refuses, and we answer".to_owned()),
        (Err(error), false) => return Err(format!("refused: {error}")),
    };
    expected(case, &message)?;
    consistent(&output, &message)?;
    if output.finish_reason == "stop" && output.stop_reason.is_null() && case.get("with_eos").is_some() {
        for &eos in served.eos.iter().take(1) {
            output.ids.push(json!(eos));
            let choice = output.whole().map_err(|error| format!("with EOS: refused: {error}"))?;
            same("with EOS", &Message::of_answer(&choice), &message)?;
            consistent(&output, &message)?;
        }
    }
    Ok(())
}

/// As [`check`] for each case, on all cores.
fn check_all(cases: &[Value], served: &Served) -> Vec<Result<(), String>> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        let parts = cases.chunks(cases.len().div_ceil(cores).max(1));
        let workers: Vec<_> = parts
            .map(|part| scope.spawn(move || part.iter().map(|case| check(case, served)).collect::<Vec<_>>()))
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a check")).collect()
    })
}

fn same(how: &str, got: &Message, wanted: &Message) -> Result<(), String> {
    if got == wanted { Ok(()) } else { Err(format!("{how}: {got:?}\n    but one-shot: {wanted:?}")) }
}

/// The same message however the ids are cut.
fn consistent(output: &Output<'_>, message: &Message) -> Result<(), String> {
    let count = output.ids.len();
    let random: Vec<usize> = (0..count).map(|place| 1 + (place * 7919 + count * 31) % 5).collect();
    let sizes: [&[usize]; 7] = [&[1], &[2], &[3], &[4], &[7], &[usize::MAX], &random];
    for sizes in sizes {
        let how = format!("in chunks of {:?}", sizes.iter().take(3).collect::<Vec<_>>());
        let (streamed, _) = output.streamed(sizes).map_err(|error| format!("{how}: {error}"))?;
        same(&how, &streamed, message)?;
    }
    Ok(())
}

/// What the data says: the author's reading, or the reference's answer where no fault of it is known.
fn expected(case: &Value, message: &Message) -> Result<(), String> {
    let trusted = case["suspect"].is_null();
    let codes: Vec<&str> =
        case["systematic"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let reference = &case["response"];
    let intent = &case["intent"];
    let (content, reasoning, calls) = if intent.is_object() {
        let calls = intent["tool_calls"].as_array().into_iter().flatten();
        let calls = calls
            .map(|call| (call["name"].as_str().unwrap_or_default().to_owned(), call["arguments"].clone()));
        (intent["content"].clone(), intent["reasoning"].clone(), calls.collect::<Vec<_>>())
    } else if trusted && reference["message"].is_object() {
        let answer = Message::of_answer(reference);
        (json!(answer.content), json!(answer.reasoning), answer.values())
    } else {
        return Ok(());
    };
    let text = |value: &Value| squeezed(value.as_str().unwrap_or_default());
    if squeezed(&message.content) != text(&content) {
        return Err(format!("content {:?}, expected {content}", message.content));
    }
    if squeezed(&message.reasoning) != text(&reasoning) {
        return Err(format!("reasoning {:?}, expected {reasoning}", message.reasoning));
    }
    if message.values() != calls {
        return Err(format!("calls {:?}, expected {calls:?}", message.values()));
    }
    let named = case["chat_request"]["tool_choice"].is_object();
    let engine = &case["finish_reason"];
    let finish =
        if engine == "stop" && !calls.is_empty() && !named { json!("tool_calls") } else { engine.clone() };
    let reference_is_right = trusted && codes.is_empty() && reference["finish_reason"].is_string();
    let finish =
        if reference_is_right && !intent.is_object() { reference["finish_reason"].clone() } else { finish };
    if message.finish_reason != finish {
        return Err(format!("finish_reason {}, expected {finish}", message.finish_reason));
    }
    Ok(())
}

#[test]
fn parser_cases_hold_one_shot_and_streamed() {
    let Some(shared) = shared() else { return };
    let differences = Differences::read();
    let mut models = Models::default();
    let mut failures = Vec::new();
    println!("{:55} {:>6} {:>6} {:>8}", "file", "pass", "fail", "differs");
    for ParserFile { name, mut cases, flags } in parser_files(&shared).chain(bug_files(&shared)) {
        cases.retain(|case| is_wanted(case["name"].as_str().unwrap_or_default()));
        let Some(case) = cases.first() else { continue };
        let model = case["model"].as_str().unwrap_or_default();
        let Some(served) = models.serve(&shared, model, &flags, &json!({})) else { continue };
        let (mut pass, mut fail, mut differs) = (0, 0, 0);
        for (case, checked) in cases.iter().zip(check_all(&cases, &served)) {
            let case_name = case["name"].as_str().unwrap_or_default();
            match checked {
                Ok(()) => pass += 1,
                Err(_) if differences.lists(case_name) => differs += 1,
                Err(why) => {
                    fail += 1;
                    failures.push(format!("{case_name}: {why}\n    output: {}", case["output_text"]));
                }
            }
        }
        println!("{name:55} {pass:6} {fail:6} {differs:8}");
    }
    for failure in failures.iter().take(200) {
        println!("{failure}");
    }
    assert!(failures.is_empty(), "{} cases differ from the data", failures.len());
    let unused = differences.unused(|name| {
        !["wire__", "none__none__"].iter().any(|start| name.starts_with(start))
            && !name.contains("prefix_sweep")
    });
    assert!(unused.is_empty(), "listed as different, and not: {unused:?}");
}
