//! jinja2's tests, which `is`, `select` and `reject` apply.

use std::cmp::Ordering;

use crate::error::Outcome;
use crate::eval::Interpreter;
use crate::front::BinaryOperator;
use crate::value::{Arguments, Dict, Integer, Object, Value, contains, equal, identical, order};

/// A test: what is tested, then its arguments.
pub(crate) type Test = fn(&mut Interpreter<'_>, &Value, Arguments) -> Outcome<bool>;

/// The test of a name.
pub(crate) fn find(name: &str) -> Option<Test> {
    Some(match name {
        "boolean" => |_, value, arguments| without(arguments, matches!(value, Value::Bool(_))),
        "callable" => |_, value, arguments| without(arguments, is_callable(value)),
        "defined" => |_, value, arguments| without(arguments, !matches!(value, Value::Undefined(_))),
        "divisibleby" => divisible_by,
        "==" | "eq" | "equalto" => |_, value, arguments| Ok(equal(value, &one(arguments)?)),
        "escaped" => {
            |_, value, arguments| without(arguments, matches!(value, Value::Str(text) if text.markup))
        }
        "even" => |interpreter, value, arguments| remainder_is(interpreter, value, arguments, 0),
        "false" => |_, value, arguments| without(arguments, matches!(value, Value::Bool(false))),
        "filter" => {
            |_, value, arguments| names(value, arguments, |name| crate::filters::find(name).is_some())
        }
        "float" => |_, value, arguments| without(arguments, matches!(value, Value::Float(_))),
        ">=" | "ge" => {
            |_, value, arguments| Ok(order(value, &one(arguments)?, ">=")?.is_some_and(Ordering::is_ge))
        }
        ">" | "greaterthan" | "gt" => {
            |_, value, arguments| Ok(order(value, &one(arguments)?, ">")? == Some(Ordering::Greater))
        }
        "in" => |interpreter, value, arguments| contains(interpreter, &one(arguments)?, value),
        "integer" => |_, value, arguments| without(arguments, matches!(value, Value::Int(_) | Value::Big(_))),
        "iterable" => |_, value, arguments| without(arguments, value.is_iterable()),
        "<=" | "le" => {
            |_, value, arguments| Ok(order(value, &one(arguments)?, "<=")?.is_some_and(Ordering::is_le))
        }
        "<" | "lessthan" | "lt" => {
            |_, value, arguments| Ok(order(value, &one(arguments)?, "<")? == Some(Ordering::Less))
        }
        "lower" => |interpreter, value, arguments| has_case(interpreter, value, arguments, "islower"),
        "mapping" => |_, value, arguments| without(arguments, matches!(value, Value::Dict(_))),
        "!=" | "ne" => |_, value, arguments| Ok(!equal(value, &one(arguments)?)),
        "none" => |_, value, arguments| without(arguments, matches!(value, Value::None)),
        "number" => |_, value, arguments| {
            without(arguments, matches!(value, Value::Float(_)) || Integer::of(value).is_some())
        },
        "odd" => |interpreter, value, arguments| remainder_is(interpreter, value, arguments, 1),
        "sameas" => |_, value, arguments| Ok(identical(value, &one(arguments)?)),
        "sequence" => |_, value, arguments| without(arguments, is_sequence(value)),
        "string" => |_, value, arguments| without(arguments, matches!(value, Value::Str(_))),
        "test" => |_, value, arguments| names(value, arguments, |name| find(name).is_some()),
        "true" => |_, value, arguments| without(arguments, matches!(value, Value::Bool(true))),
        "undefined" => |_, value, arguments| without(arguments, matches!(value, Value::Undefined(_))),
        "upper" => |interpreter, value, arguments| has_case(interpreter, value, arguments, "isupper"),
        _ => return None,
    })
}

/// The result of a test that takes no arguments.
fn without(arguments: Arguments, result: bool) -> Outcome<bool> {
    arguments.bind("test", &[], 0)?;
    Ok(result)
}

/// Whether a value is a known name; jinja2 looks it up in a dict, where only hashable values can be.
fn names(value: &Value, arguments: Arguments, known: fn(&str) -> bool) -> Outcome<bool> {
    arguments.bind("test", &[], 0)?;
    Dict::default().get(value)?;
    Ok(value.as_str().is_some_and(known))
}

/// The argument of a test that takes one.
fn one(arguments: Arguments) -> Outcome<Value> {
    Ok(arguments.bind_positional("test", 1, 1)?.take_or(0, Value::None))
}

fn divisible_by(interpreter: &mut Interpreter<'_>, value: &Value, arguments: Arguments) -> Outcome<bool> {
    let divisor = arguments.bind("test_divisibleby", &["num"], 1)?.take_or(0, Value::None);
    let remainder = interpreter.binary(BinaryOperator::Remainder, value, &divisor)?;
    Ok(equal(&remainder, &Value::Int(0)))
}

fn remainder_is(
    interpreter: &mut Interpreter<'_>,
    value: &Value,
    arguments: Arguments,
    wanted: i64,
) -> Outcome<bool> {
    arguments.bind("test", &[], 0)?;
    let remainder = interpreter.binary(BinaryOperator::Remainder, value, &Value::Int(2))?;
    Ok(equal(&remainder, &Value::Int(wanted)))
}

fn has_case(
    interpreter: &mut Interpreter<'_>,
    value: &Value,
    arguments: Arguments,
    method: &str,
) -> Outcome<bool> {
    arguments.bind("test", &[], 0)?;
    let text = Value::Str(value.to_text(interpreter)?);
    Ok(crate::methods::call(interpreter, &text, &method.into(), Arguments::default())?.is_true())
}

/// What has a length and items by position: Python's sequences, and dicts too.
fn is_sequence(value: &Value) -> bool {
    matches!(
        value,
        Value::Undefined(_)
            | Value::Str(_)
            | Value::Bytes(_)
            | Value::List(_)
            | Value::Tuple(_)
            | Value::Dict(_)
            | Value::Range(_)
    )
}

fn is_callable(value: &Value) -> bool {
    match value {
        // jinja2's undefined values can be called, if only to fail.
        Value::Undefined(_) => true,
        Value::Object(object) => {
            !matches!(**object, Object::Namespace(_) | Object::Cycler(_) | Object::TemplateReference)
        }
        _ => false,
    }
}
