//! Small templates of our own, with what jinja2 gives for them (`regenerate.py`).

mod support;

use std::fmt::Write as _;

use support::{field, has_address, json, list, render_expression, text};

#[test]
fn expressions_give_what_jinja2_gives() {
    let fixture = json(include_bytes!("fixtures/expressions.json"));
    let context = field(&fixture, "context");
    let mut wrong = String::new();
    let mut total = 0;
    for case in list(field(&fixture, "cases").expect("cases")) {
        let source = field(case, "template").and_then(text).expect("template");
        if has_address(case) {
            continue;
        }
        total += 1;
        let expected = field(case, "text").and_then(text);
        let spans = field(case, "assistant_spans").map(support::spans).unwrap_or_default();
        // Writing to a text does not fail.
        let _ = match (render_expression(source, context), expected) {
            (Ok(actual), Some(expected)) if actual.text == expected && actual.assistant_spans == spans => {
                Ok(())
            }
            (Err(_), None) => Ok(()),
            (Ok(actual), Some(expected)) => {
                writeln!(wrong, "{source}\n  got      {actual:?}\n  expected {expected:?} {spans:?}")
            }
            (Ok(actual), None) => {
                writeln!(
                    wrong,
                    "{source}\n  got      {:?}\n  expected {:?}",
                    actual.text,
                    field(case, "error")
                )
            }
            (Err(error), Some(expected)) => {
                writeln!(wrong, "{source}\n  error    {error}\n  expected {expected:?}")
            }
        };
    }
    assert!(wrong.is_empty(), "of {total} expressions these are wrong:\n{wrong}");
}
