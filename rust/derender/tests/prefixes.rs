//! Every prefix of an output, cut by length: `prefix_sweep` of `../shared/conformance/derender`.
//!
//! One answer one-shot and streamed, and the reference's text, reasoning and names of calls where its own one-shot and
//! streamed answers agree.

mod support;

use serde_json::{Value, json};
use support::differences::Differences;
use support::{Message, Models, Output, ParserFile, is_wanted, parser_files, shared, squeezed};

/// The one answer for a prefix, or what differs between ways to cut it.
fn answer(output: &Output<'_>, streamed: [&Message; 2]) -> Result<Message, String> {
    let message = Message::of_answer(&output.whole()?);
    for streamed in streamed {
        if *streamed != message {
            return Err(format!("streamed: {streamed:?}\n    but one-shot: {message:?}"));
        }
    }
    if message.finish_reason == json!("length") {
        Ok(message)
    } else {
        Err(format!("finish_reason {}", message.finish_reason))
    }
}

/// What differs from the reference, where that has one answer.
fn compare(message: &Message, prefix: &Value) -> Result<(), String> {
    if prefix["same"] != json!(true) {
        return Ok(());
    }
    let expected = Message::of_answer(&json!({"message": prefix["message"]}));
    let names = |message: &Message| message.calls.iter().map(|call| call.1.clone()).collect::<Vec<_>>();
    let text = |message: &Message| (squeezed(&message.content), squeezed(&message.reasoning));
    if text(message) == text(&expected) && names(message) == names(&expected) {
        Ok(())
    } else {
        Err(format!("{message:?}\n    but the reference: {expected:?}"))
    }
}

#[test]
fn every_prefix_has_one_answer() {
    let Some(shared) = shared() else { return };
    let differences = Differences::read();
    let mut models = Models::default();
    let mut failures = Vec::new();
    for ParserFile { name, cases, flags } in parser_files(&shared).filter(|file| is_wanted(&file.name)) {
        for case in cases.iter().filter(|case| case["prefixes"].is_array()) {
            let model = case["model"].as_str().unwrap_or_default();
            let Some(served) = models.serve(&shared, model, &flags, &json!({})) else { break };
            let Some(mut output) = Output::of_case(case, &served) else { continue };
            let streams = [1, 3].map(|size| output.streamed_prefixes(size).expect("a stream"));
            let ids = output.ids.clone();
            for prefix in case["prefixes"].as_array().into_iter().flatten() {
                let length = prefix["n"].as_u64().and_then(|length| usize::try_from(length).ok());
                let length = length.expect("a length");
                output.ids = ids[..length].to_vec();
                let streamed = [&streams[0][length - 1], &streams[1][length - 1]];
                let prefix_name = format!("{name}/prefix_sweep/{length}");
                let result = answer(&output, streamed).and_then(|message| match compare(&message, prefix) {
                    Err(_) if differences.lists(&prefix_name) => Ok(()),
                    result => result,
                });
                if let Err(why) = result {
                    failures.push(format!("{prefix_name}: {why}"));
                }
            }
        }
    }
    for failure in failures.iter().take(60) {
        println!("{failure}");
    }
    assert!(failures.is_empty(), "{} prefixes differ from the data", failures.len());
    let unused = differences.unused(|name| name.contains("prefix_sweep"));
    assert!(unused.is_empty(), "listed as different, and not: {unused:?}");
}
