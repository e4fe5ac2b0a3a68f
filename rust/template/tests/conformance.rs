//! The chat-template corpus: real templates and one-expression cases, rendered by transformers.

mod support;

use std::fmt::Write as _;
use std::fs;

use dragoman_template::{Budget, ChatTemplate, Rendered, TemplateError, TemplateInput};
use jiter::JsonValue;
use support::{Case, corpus, field, json, list, object, text};

/// What a case expects.
fn check(expected: &JsonValue<'_>, actual: &Result<Rendered, TemplateError>) -> Result<(), String> {
    match (field(expected, "error"), actual) {
        (Some(error), Err(actual)) => {
            let message = field(error, "message").and_then(text).unwrap_or_default();
            let exact = matches!(field(error, "exact"), Some(JsonValue::Bool(true)));
            if exact && actual.to_string() != message {
                return Err(format!("raised {actual}, expected {message}"));
            }
            Ok(())
        }
        (Some(error), Ok(actual)) => Err(format!("rendered {:?}, expected error {error:?}", actual.text)),
        (None, Err(error)) => Err(format!("error: {error}")),
        (None, Ok(actual)) => {
            let wanted = field(expected, "text").and_then(text).unwrap_or_default();
            if actual.text != wanted {
                return Err(format!("\n  got      {:?}\n  expected {wanted:?}", actual.text));
            }
            let spans = field(expected, "assistant_spans").map(support::spans).unwrap_or_default();
            if actual.assistant_spans != spans {
                return Err(format!("spans {:?}, expected {spans:?}", actual.assistant_spans));
            }
            Ok(())
        }
    }
}

fn report(name: &str, total: usize, failures: &[String]) {
    let mut shown = String::new();
    for failure in failures.iter().take(60) {
        let _ = writeln!(shown, "{failure}");
    }
    println!("{name}: {} of {total} right", total - failures.len());
    assert!(failures.is_empty(), "{name}: {} of {total} right\n{shown}", total - failures.len());
}

#[test]
fn real_templates_render_as_in_transformers() {
    let Some(corpus) = corpus() else { return };
    let tokens = fs::read(corpus.join("special_tokens.json")).expect("special tokens");
    let tokens = json(&tokens);
    let conversations = fs::read(corpus.join("conversations.jsonl")).expect("conversations");
    let conversations: Vec<JsonValue<'_>> =
        conversations.split(|b| *b == b'\n').filter(|line| !line.is_empty()).map(json).collect();
    let (mut total, mut failures) = (0, Vec::new());
    for (name, entry) in object(&tokens) {
        let source =
            fs::read_to_string(corpus.join("templates").join(format!("{name}.jinja"))).expect("template");
        let expected = fs::read(corpus.join("expected").join(format!("{name}.jsonl"))).expect("expected");
        let special: Vec<(String, JsonValue<'static>)> =
            object(field(entry, "special_tokens").expect("tokens"))
                .iter()
                .map(|(name, value)| (name.to_string(), value.to_static()))
                .collect();
        let template = ChatTemplate::new(&source, &special);
        let lines = expected.split(|b| *b == b'\n').filter(|line| !line.is_empty());
        for (expected, conversation) in lines.zip(&conversations) {
            let expected = json(expected);
            let wanted = field(&expected, "conversation").and_then(text);
            assert_eq!(wanted, field(conversation, "name").and_then(text), "{name}");
            let case = Case::of_conversation(field(conversation, "input").expect("input"));
            let actual = match &template {
                Ok(template) => case.render(template),
                Err(error) => Err(error.clone()),
            };
            total += 1;
            if let Err(problem) = check(&expected, &actual) {
                failures.push(format!("{name} / {}: {problem}", wanted.unwrap_or_default()));
            }
        }
    }
    report("templates", total, &failures);
}

#[test]
fn one_expression_cases_give_what_jinja2_gives() {
    let Some(corpus) = corpus() else { return };
    let mut files: Vec<_> = fs::read_dir(corpus.join("micro"))
        .expect("micro")
        .map(|entry| entry.expect("entry").path())
        .collect();
    files.sort();
    let (mut total, mut failures) = (0, Vec::new());
    for file in files {
        let bytes = fs::read(&file).expect("cases");
        let cases = json(&bytes);
        for case in list(&cases) {
            if matches!(field(case, "nondeterministic"), Some(JsonValue::Bool(true)))
                || support::has_address(case)
            {
                continue;
            }
            let source = field(case, "template").and_then(text).expect("template");
            let actual = support::render_expression(source, field(case, "context"));
            total += 1;
            if let Err(problem) = check(case, &actual) {
                let id = field(case, "id").and_then(text).unwrap_or_default();
                failures.push(format!("{id} {source:?}: {problem}"));
            }
        }
    }
    report("micro", total, &failures);
}

/// Not a benchmark: a figure to compare by when something seems slow.
#[test]
fn timing_of_a_short_chat_is_printed() {
    let Some(corpus) = corpus() else { return };
    let source =
        fs::read_to_string(corpus.join("templates/qwen3__qwen-qwen3-0.6b.llamacpp.jinja")).expect("template");
    let template = ChatTemplate::new(&source, &[]).expect("compiles");
    let messages = br#"[{"role":"system","content":"You are helpful."},{"role":"user","content":"Hello there, how are you?"},
        {"role":"assistant","content":"<think>\nok\n</think>\n\nFine."}]"#;
    let messages = json(messages);
    let input = TemplateInput {
        messages: &messages,
        tools: None,
        documents: None,
        add_generation_prompt: true,
        continue_final_message: false,
        kwargs: &[],
        now: None,
    };
    let rounds = 2000;
    let start = std::time::Instant::now();
    for _ in 0..rounds {
        let rendered = template.render(&input, &Budget::default()).expect("renders");
        assert!(rendered.text.ends_with("assistant\n"));
    }
    println!(
        "qwen3, 3 messages: {:.1} us per render",
        start.elapsed().as_secs_f64() * 1e6 / f64::from(rounds)
    );
}
