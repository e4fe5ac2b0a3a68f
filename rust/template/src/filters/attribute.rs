//! Attributes given by name, as `map(attribute="a.b")` takes them.

use std::sync::Arc;

use crate::error::Outcome;
use crate::eval::{Interpreter, attribute, item};
use crate::value::{Arguments, Value};

/// `attr`: an attribute, never an item.
pub(super) fn attr(interpreter: &mut Interpreter<'_>, value: Value, arguments: Arguments) -> Outcome<Value> {
    let mut parameters = arguments.bind("attr", &["name"], 1)?;
    let name = parameters.take_or(0, Value::None).to_text(interpreter)?;
    if let Value::Dict(dict) = &value
        && dict.get_str(&name.text).is_some()
        && !crate::methods::exists(&value, &name.text)
    {
        // Without its items a dict has no such attribute.
        return attribute(interpreter, &Value::dict(crate::value::Dict::default()), &name.text);
    }
    attribute(interpreter, &value, &name.text)
}

/// Gets a part of an item: the path to it, what stands for a part that is missing, and whether case matters.
#[derive(Default)]
pub(super) struct Getter {
    path: Vec<Value>,
    default: Option<Value>,
    ignore_case: bool,
}

impl Getter {
    /// The getter of an attribute, where None gets the item itself.
    pub fn new(attribute: Option<&Value>, default: Option<Value>, ignore_case: bool) -> Self {
        let path = match attribute {
            None | Some(Value::None) => Vec::new(),
            Some(Value::Str(text)) => parts(&text.text),
            Some(other) => vec![other.clone()],
        };
        Self { path, default: default.filter(|value| !matches!(value, Value::None)), ignore_case }
    }

    /// The getters of attributes separated by commas.
    pub fn several(attribute: Option<&Value>, ignore_case: bool) -> Vec<Self> {
        match attribute {
            Some(Value::Str(text)) => text
                .text
                .split(',')
                .map(|part| Self { path: parts(part), default: None, ignore_case })
                .collect(),
            other => vec![Self::new(other, None, ignore_case)],
        }
    }

    /// The part of an item.
    pub fn get(&self, interpreter: &mut Interpreter<'_>, value: &Value) -> Outcome<Value> {
        let mut value = value.clone();
        for part in &self.path {
            value = item(interpreter, &value, part)?;
            if let (Value::Undefined(_), Some(default)) = (&value, &self.default) {
                value = default.clone();
            }
        }
        Ok(if self.ignore_case { without_case(value) } else { value })
    }
}

/// A text in lower case; anything else as it is.
pub(super) fn without_case(value: Value) -> Value {
    match &value {
        Value::Str(text) => Value::text_like(text, crate::text::lowercased(&text.text)),
        _ => value,
    }
}

fn parts(path: &str) -> Vec<Value> {
    path.split('.')
        .map(|part| match part.parse::<i64>() {
            Ok(index) if part.bytes().all(|byte| byte.is_ascii_digit()) => Value::Int(index),
            _ => Value::text(Arc::from(part)),
        })
        .collect()
}
