//! JSON to values, as Python's `json.loads` gives them.

use std::sync::Arc;

use jiter::JsonValue;

use super::{Dict, Integer, Value};

/// The value of a JSON document. Of a repeated key the last value counts, at the first position.
pub(crate) fn from_json(json: &JsonValue<'_>) -> Value {
    match json {
        JsonValue::Null => Value::None,
        JsonValue::Bool(value) => Value::Bool(*value),
        JsonValue::Int(value) => Value::Int(*value),
        JsonValue::BigInt(value) => Integer::from(value.clone()).into(),
        JsonValue::Float(value) => Value::Float(*value),
        JsonValue::Str(text) => Value::text(&**text),
        JsonValue::Array(items) => Value::list(items.iter().map(from_json).collect()),
        JsonValue::Object(entries) => {
            let mut dict = Dict::with_capacity(entries.len());
            for (key, value) in entries.iter() {
                dict.set_str(&Arc::from(&**key), from_json(value));
            }
            Value::dict(dict)
        }
    }
}
