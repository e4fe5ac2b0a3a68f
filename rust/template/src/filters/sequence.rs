//! Filters for whole sequences.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use super::argument_error;
use super::attribute::Getter;
use crate::error::{Outcome, type_error};
use crate::eval::Interpreter;
use crate::text::escape;
use crate::value::{Arguments, Undefined, Value};

/// `length`.
pub(super) fn length(_: &mut Interpreter<'_>, value: Value, arguments: Arguments) -> Outcome<Value> {
    arguments.bind("length", &[], 0)?;
    Ok(Value::size(value.length()?))
}

/// `default`.
pub(super) fn default(_: &mut Interpreter<'_>, value: Value, arguments: Arguments) -> Outcome<Value> {
    let mut parameters = arguments.bind("default", &["default_value", "boolean"], 0)?;
    let boolean = parameters.flag(1, false);
    if matches!(value, Value::Undefined(_)) || boolean && !value.is_true() {
        return Ok(parameters.take_or(0, Value::text("")));
    }
    Ok(value)
}

/// `first`.
pub(super) fn first(interpreter: &mut Interpreter<'_>, value: Value, arguments: Arguments) -> Outcome<Value> {
    arguments.bind("first", &[], 0)?;
    let first = value.first(interpreter)?;
    Ok(first.unwrap_or_else(|| empty("No first item, sequence was empty.")))
}

/// `last`.
pub(super) fn last(interpreter: &mut Interpreter<'_>, value: Value, arguments: Arguments) -> Outcome<Value> {
    arguments.bind("last", &[], 0)?;
    if let Value::List(items) | Value::Tuple(items) = &value {
        return Ok(items.items.last().cloned().unwrap_or_else(|| empty("No last item, sequence was empty.")));
    }
    let last = reversed(interpreter, &value)?.into_iter().next();
    Ok(last.unwrap_or_else(|| empty("No last item, sequence was empty.")))
}

/// `random`.
pub(super) fn random(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    arguments: Arguments,
) -> Outcome<Value> {
    arguments.bind("random", &[], 0)?;
    let items = value.iterate(interpreter)?;
    if items.is_empty() {
        return Ok(empty("No random item, sequence was empty."));
    }
    let at = RandomState::new().build_hasher().finish() % items.len() as u64;
    Ok(items.into_iter().nth(usize::try_from(at).unwrap_or(0)).unwrap_or(Value::None))
}

fn empty(reason: &str) -> Value {
    Value::undefined(Undefined::Reason(reason.to_owned()))
}

/// Python's `reversed()`, as a list.
fn reversed(interpreter: &mut Interpreter<'_>, value: &Value) -> Outcome<Vec<Value>> {
    match value {
        Value::Generator(_)
        | Value::Object(_)
        | Value::None
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Big(_)
        | Value::Float(_) => Err(type_error(format!("'{}' object is not reversible", value.type_name()))),
        _ => {
            let mut items = value.iterate(interpreter)?;
            items.reverse();
            Ok(items)
        }
    }
}

/// `reverse`.
pub(super) fn reverse(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    arguments: Arguments,
) -> Outcome<Value> {
    arguments.bind("reverse", &[], 0)?;
    match &value {
        Value::Str(text) => {
            interpreter.meter.allocate(text.text.len())?;
            Ok(Value::text_like(text, text.text.chars().rev().collect::<String>()))
        }
        Value::Generator(_) => {
            let mut items = value.iterate(interpreter)?;
            items.reverse();
            Ok(Value::list(items))
        }
        _ => match reversed(interpreter, &value) {
            Ok(items) => Ok(Value::generator("reversed", items, None)),
            Err(_) => Err(argument_error("argument must be iterable")),
        },
    }
}

/// `list`.
pub(super) fn list(interpreter: &mut Interpreter<'_>, value: Value, arguments: Arguments) -> Outcome<Value> {
    arguments.bind("list", &[], 0)?;
    Ok(Value::list(value.into_items(interpreter)?))
}

/// `items`: the pairs of a dict, of which an undefined value has none.
pub(super) fn items(interpreter: &mut Interpreter<'_>, value: Value, arguments: Arguments) -> Outcome<Value> {
    arguments.bind("items", &[], 0)?;
    Ok(match &value {
        Value::Undefined(_) => Value::generator("do_items", Vec::new(), None),
        Value::Dict(dict) => {
            let view = Value::View(crate::value::View::Items, std::rc::Rc::clone(dict));
            Value::generator("do_items", view.iterate(interpreter)?, None)
        }
        _ => Value::generator(
            "do_items",
            Vec::new(),
            Some(type_error("Can only get item pairs from a mapping.")),
        ),
    })
}

/// `join`.
pub(super) fn join(interpreter: &mut Interpreter<'_>, value: Value, arguments: Arguments) -> Outcome<Value> {
    let mut parameters = arguments.bind("join", &["d", "attribute"], 0)?;
    let separator = parameters.take_or(0, Value::text("")).to_text(interpreter)?;
    let attribute = parameters.take(1);
    let getter = Getter::new(attribute.as_ref(), None, false);
    let mut parts = Vec::new();
    for item in value.into_items(interpreter)? {
        parts.push(getter.get(interpreter, &item)?.to_text(interpreter)?);
    }
    let markup = interpreter.autoescape() && (separator.markup || parts.iter().any(|part| part.markup));
    let mut out = String::new();
    for (at, part) in parts.iter().enumerate() {
        for text in [(at > 0).then_some(&separator), Some(part)].into_iter().flatten() {
            interpreter.meter.allocate(out.len() + text.text.len())?;
            if markup && !text.markup {
                out.push_str(&escape(&text.text));
            } else {
                out.push_str(&text.text);
            }
        }
    }
    Ok(if markup { Value::markup(out) } else { Value::text(out) })
}
