//! Every prefix of an output, cut by length: `prefix_sweep` of `../shared/conformance/derender`.
//!
//! One answer one-shot and streamed, and the reference's text, reasoning and names of calls where its own one-shot and
//! streamed answers agree.

mod support;

use serde_json::{Value, json};
use support::{Differences, Message, Models, Output, cases, shared, squeezed};

/// The one answer for a prefix, or what differs between ways to cut it.
fn answer(output: &Output<'_>) -> Result<Message, String> {
    let message = Message::of_answer(&output.whole()?);
    for sizes in [&[1][..], &[3]] {
        let (streamed, _) = output.streamed(sizes)?;
        if streamed != message {
            return Err(format!("in chunks of {sizes:?}: {streamed:?}\n    but one-shot: {message:?}"));
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
    let filter = std::env::var("DRAGOMAN_CASES").unwrap_or_default();
    let mut models = Models::default();
    let mut files: Vec<_> = std::fs::read_dir(shared.join("conformance/derender"))
        .expect("the data")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    let mut failures = Vec::new();
    for file in files {
        let name = file.file_stem().and_then(|stem| stem.to_str()).expect("a name").to_owned();
        let [tool, reasoning, _] = name.split("__").collect::<Vec<_>>()[..] else { continue };
        if tool == "wire" || !filter.split(',').any(|part| name.contains(part)) {
            continue;
        }
        let mut flags = Vec::new();
        if tool != "none" {
            flags.extend(["--tool-call-parser", tool, "--enable-auto-tool-choice"]);
        }
        if reasoning != "none" {
            flags.extend(["--reasoning-parser", reasoning]);
        }
        for case in cases(&file).into_iter().filter(|case| case["prefixes"].is_array()) {
            let model = case["model"].as_str().unwrap_or_default();
            let Some(served) = models.serve(&shared, model, &flags, &json!({})) else { break };
            let case_name = case["name"].as_str().unwrap_or_default();
            for prefix in case["prefixes"].as_array().into_iter().flatten() {
                let Some(mut output) = Output::of_case(&case, &served) else { continue };
                let length = prefix["n"].as_u64().and_then(|length| usize::try_from(length).ok());
                output.ids.truncate(length.expect("a length"));
                let prefix_name = format!("{case_name}/{}", prefix["n"]);
                let listed = differences.lists(&prefix_name);
                let result = answer(&output).and_then(|message| match compare(&message, prefix) {
                    Err(_) if listed => Ok(()),
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
}
