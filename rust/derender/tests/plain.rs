//! Detokenization, stop strings and stop tokens: the cases of `../shared/conformance/derender/none__none__*.jsonl`.

mod support;

use serde_json::{Value, json};
use support::differences::Differences;
use support::{Message, Models, Output, cases, shared};

/// The text that a case must give: the reference's, or what its coupled server gives where the reference is at fault.
fn expected(case: &Value) -> Option<Value> {
    if case["suspect"].is_null() {
        return Some(case["response"]["message"]["content"].clone());
    }
    // In some cases that one is at fault too, and the data says so.
    let why = case["suspect"].as_str().unwrap_or_default();
    if why.contains("coupled field is off") || why.contains("coupled server is wrong too") {
        return None;
    }
    case["coupled"].get("text").cloned()
}

fn check(case: &Value, served: &support::Served) -> Result<(), String> {
    let Some(output) = Output::of_case(case, served) else { return Ok(()) };
    let refused = case["response"]["status"].as_u64().is_some_and(|status| status >= 400);
    // Ids out of vocabulary are refused here, and left out there.
    let wants_refusal = refused || case["suspect"].as_str().is_some_and(|why| why.contains("expected 400"));
    let message = match output.whole() {
        Ok(choice) => Message::of_answer(&choice),
        Err(_) if wants_refusal => return Ok(()),
        Err(error) => return Err(format!("refused: {error}")),
    };
    if wants_refusal {
        return Err(format!("not refused: {message:?}"));
    }
    if let Some(text) = expected(case)
        && message.content != text.as_str().unwrap_or_default()
    {
        return Err(format!("text {:?}, expected {text}", message.content));
    }
    for sizes in [&[1][..], &[2], &[3], &[5], &[usize::MAX], &[1, 2, 3, 1, 1, 4, 2]] {
        let (streamed, size) =
            output.streamed(sizes).map_err(|error| format!("in chunks of {sizes:?}: {error}"))?;
        if streamed != message {
            return Err(format!("in chunks of {sizes:?}: {streamed:?}, one-shot {message:?}"));
        }
        if size > 512 {
            return Err(format!("a state of {size} bytes"));
        }
    }
    Ok(())
}

#[test]
fn plain_cases_hold_one_shot_and_streamed() {
    let Some(shared) = shared() else { return };
    let differences = Differences::read();
    let filter = std::env::var("DRAGOMAN_CASES").unwrap_or_default();
    let mut models = Models::default();
    let mut failures = Vec::new();
    for model in ["qwen3", "llama3", "deepseek", "gemma3", "smollm2-135m-instruct", "sp-strip"] {
        let path = shared.join(format!("conformance/derender/none__none__{model}.jsonl"));
        let Some(served) = models.serve(&shared, model, &[], &json!({})) else { continue };
        let (mut pass, mut differs) = (0, 0);
        for case in cases(&path) {
            let name = case["name"].as_str().unwrap_or_default();
            if !name.contains(&filter) {
                continue;
            }
            match check(&case, &served) {
                Ok(()) => pass += 1,
                Err(_) if differences.lists(name) => differs += 1,
                Err(why) => failures.push(format!("{name}: {why}")),
            }
        }
        println!("{model:25} {pass} pass, {differs} differ");
    }
    failures.iter().take(80).for_each(|failure| println!("{failure}"));
    assert!(failures.is_empty(), "{} cases differ from the data", failures.len());
    let unused = differences.unused(|name| name.starts_with("none__none__"));
    assert!(unused.is_empty(), "listed as different, and not: {unused:?}");
}
