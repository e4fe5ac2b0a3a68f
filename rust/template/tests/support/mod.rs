//! What the tests share: reading cases and rendering them.
#![allow(dead_code, reason = "each test binary uses a part")]

use std::path::PathBuf;

use dragoman_template::{
    Budget, ChatTemplate, NaiveDateTime, Rendered, TemplateError, TemplateInput, alias_reasoning,
    drop_null_fields,
};
use jiter::JsonValue;

/// The corpus beside the repository; `None`, with a printed line, where it is not there.
pub fn corpus() -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance/templates");
    if path.is_dir() {
        return Some(path);
    }
    let required = std::env::var("DRAGOMAN_REQUIRE_SHARED").is_ok_and(|value| value == "1");
    assert!(!required, "DRAGOMAN_REQUIRE_SHARED is 1, and there is no {}", path.display());
    println!("skipped: no corpus at {}", path.display());
    None
}

pub fn json(bytes: &[u8]) -> JsonValue<'_> {
    JsonValue::parse(bytes, false).expect("JSON")
}

pub fn field<'x, 'a>(value: &'x JsonValue<'a>, name: &str) -> Option<&'x JsonValue<'a>> {
    let JsonValue::Object(entries) = value else {
        return None;
    };
    entries.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value)
}

pub fn object<'x, 'a>(value: &'x JsonValue<'a>) -> &'x [(std::borrow::Cow<'a, str>, JsonValue<'a>)] {
    match value {
        JsonValue::Object(entries) => entries,
        _ => &[],
    }
}

pub fn list<'x, 'a>(value: &'x JsonValue<'a>) -> &'x [JsonValue<'a>] {
    match value {
        JsonValue::Array(items) => items,
        _ => &[],
    }
}

pub fn text<'x>(value: &'x JsonValue<'_>) -> Option<&'x str> {
    match value {
        JsonValue::Str(text) => Some(text),
        _ => None,
    }
}

pub fn spans(value: &JsonValue<'_>) -> Vec<(usize, usize)> {
    let position = |value: &JsonValue<'_>| match value {
        JsonValue::Int(at) => usize::try_from(*at).expect("position"),
        other => panic!("not a position: {other:?}"),
    };
    list(value).iter().map(|span| (position(&list(span)[0]), position(&list(span)[1]))).collect()
}

/// Whether a case expects an address of `CPython`'s memory, which nothing can be equal to.
pub fn has_address(case: &JsonValue<'_>) -> bool {
    field(case, "text").and_then(text).is_some_and(|text| text.contains(" at 0x"))
}

fn flag(value: &JsonValue<'_>, name: &str) -> bool {
    matches!(field(value, name), Some(JsonValue::Bool(true)))
}

/// The clock of the corpus (`meta.json`).
pub fn fixed_now() -> NaiveDateTime {
    "2026-01-15T12:00:00".parse().expect("time")
}

/// A conversation to render.
pub struct Case {
    messages: JsonValue<'static>,
    tools: Option<JsonValue<'static>>,
    documents: Option<JsonValue<'static>>,
    add_generation_prompt: bool,
    continue_final_message: bool,
    kwargs: Vec<(String, JsonValue<'static>)>,
}

impl Case {
    pub fn of_conversation(input: &JsonValue<'_>) -> Self {
        let optional = |name: &str| {
            field(input, name).filter(|v| !matches!(v, JsonValue::Null)).map(JsonValue::to_static)
        };
        let mut messages = field(input, "messages").expect("messages").to_static();
        if flag(input, "normalize") {
            messages = drop_null_fields(&messages);
        }
        Self {
            messages: alias_reasoning(&messages),
            tools: optional("tools"),
            documents: optional("documents"),
            add_generation_prompt: flag(input, "add_generation_prompt"),
            continue_final_message: flag(input, "continue_final_message"),
            kwargs: field(input, "kwargs").map(variables).unwrap_or_default(),
        }
    }

    pub fn render(&self, template: &ChatTemplate) -> Result<Rendered, TemplateError> {
        let input = TemplateInput {
            messages: &self.messages,
            tools: self.tools.as_ref(),
            documents: self.documents.as_ref(),
            add_generation_prompt: self.add_generation_prompt,
            continue_final_message: self.continue_final_message,
            kwargs: &self.kwargs,
            now: Some(fixed_now()),
        };
        template.render(&input, &unhurried())
    }
}

/// The default budget with time enough for a busy machine and an unoptimised build.
pub fn unhurried() -> Budget {
    Budget { time: std::time::Duration::from_secs(60), ..Budget::default() }
}

fn variables(value: &JsonValue<'_>) -> Vec<(String, JsonValue<'static>)> {
    object(value).iter().map(|(name, value)| (name.to_string(), value.to_static())).collect()
}

/// Renders a small template with some variables.
pub fn render_expression(source: &str, context: Option<&JsonValue<'_>>) -> Result<Rendered, TemplateError> {
    render_within(&unhurried(), source, context)
}

/// The same within a budget.
pub fn render_within(
    budget: &Budget,
    source: &str,
    context: Option<&JsonValue<'_>>,
) -> Result<Rendered, TemplateError> {
    let kwargs = context.map(variables).unwrap_or_default();
    let template = ChatTemplate::new(source, &[])?;
    let messages = JsonValue::Null;
    let input = TemplateInput {
        messages: &messages,
        tools: None,
        documents: None,
        add_generation_prompt: false,
        continue_final_message: false,
        kwargs: &kwargs,
        now: Some(fixed_now()),
    };
    template.render(&input, budget)
}
