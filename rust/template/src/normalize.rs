//! What transformers does to messages before a template sees them.

use std::borrow::Cow;
use std::sync::Arc;

use jiter::JsonValue;

/// Names under which templates look for a message's reasoning, the usual one first.
const REASONING_FIELDS: [&str; 3] = ["reasoning_content", "thinking", "reasoning"];

/// Leaves out the keys of each message whose value is null, as transformers newer than 5.19 does.
#[must_use]
pub fn drop_null_fields<'a>(messages: &JsonValue<'a>) -> JsonValue<'a> {
    map_messages(messages, |fields| {
        fields.iter().filter(|(_, value)| !matches!(value, JsonValue::Null)).cloned().collect()
    })
}

/// Gives a message's reasoning under the names `thinking` and `reasoning_content`, whichever it came under, as
/// transformers 5.24 does.
#[must_use]
pub fn alias_reasoning<'a>(messages: &JsonValue<'a>) -> JsonValue<'a> {
    map_messages(messages, |fields| {
        let given = |name: &str| fields.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value);
        let reasoning = REASONING_FIELDS
            .iter()
            .filter_map(|name| given(name))
            .find(|value| !matches!(value, JsonValue::Null))
            .cloned();
        let Some(reasoning) = reasoning else {
            return fields.to_vec();
        };
        let mut aliased = Vec::with_capacity(fields.len() + 2);
        aliased.push((Cow::Borrowed("thinking"), reasoning.clone()));
        aliased.extend(fields.iter().cloned());
        aliased.push((Cow::Borrowed("reasoning_content"), reasoning));
        aliased
    })
}

/// The fields of a message: names and values in order.
type Fields<'a> = [(Cow<'a, str>, JsonValue<'a>)];

fn map_messages<'a>(
    messages: &JsonValue<'a>,
    change: impl Fn(&Fields<'a>) -> Vec<(Cow<'a, str>, JsonValue<'a>)>,
) -> JsonValue<'a> {
    let JsonValue::Array(items) = messages else {
        return messages.clone();
    };
    let changed = items.iter().map(|message| match message {
        JsonValue::Object(fields) => JsonValue::Object(Arc::new(change(fields))),
        other => other.clone(),
    });
    JsonValue::Array(Arc::new(changed.collect()))
}
