//! Methods of Python's built-in types.

mod containers;
mod format;
mod format_spec;
mod percent;
mod predicates;
mod search;
mod split;
mod string;

use std::sync::Arc;

use crate::error::{Outcome, type_error};
use crate::eval::Interpreter;
use crate::value::{Arguments, Object, Value};

pub(crate) use percent::percent_format;
pub(crate) use split::lines;

/// Methods of `str`.
const STRING: [&str; 47] = [
    "capitalize",
    "casefold",
    "center",
    "count",
    "encode",
    "endswith",
    "expandtabs",
    "find",
    "format",
    "format_map",
    "index",
    "isalnum",
    "isalpha",
    "isascii",
    "isdecimal",
    "isdigit",
    "isidentifier",
    "islower",
    "isnumeric",
    "isprintable",
    "isspace",
    "istitle",
    "isupper",
    "join",
    "ljust",
    "lower",
    "lstrip",
    "maketrans",
    "partition",
    "removeprefix",
    "removesuffix",
    "replace",
    "rfind",
    "rindex",
    "rjust",
    "rpartition",
    "rsplit",
    "rstrip",
    "split",
    "splitlines",
    "startswith",
    "strip",
    "swapcase",
    "title",
    "translate",
    "upper",
    "zfill",
];

/// Whether a value has a method that the sandbox allows.
pub(crate) fn exists(owner: &Value, name: &str) -> bool {
    match owner {
        Value::Str(text) => {
            STRING.contains(&name) || text.markup && matches!(name, "striptags" | "unescape" | "escape")
        }
        Value::Dict(_) => matches!(name, "copy" | "fromkeys" | "get" | "items" | "keys" | "values"),
        Value::List(_) => matches!(name, "copy" | "count" | "index"),
        Value::Tuple(_) | Value::Range(_) => matches!(name, "count" | "index"),
        Value::Int(_) | Value::Big(_) | Value::Bool(_) => {
            matches!(name, "as_integer_ratio" | "bit_count" | "bit_length" | "conjugate")
        }
        Value::Float(_) => matches!(name, "conjugate" | "is_integer"),
        Value::Bytes(_) => matches!(name, "decode" | "hex"),
        Value::Object(object) => match &**object {
            Object::Loop(_) => matches!(name, "changed" | "cycle"),
            Object::Cycler(_) => matches!(name, "next" | "reset"),
            _ => false,
        },
        _ => false,
    }
}

/// Calls a method that [`exists`].
///
/// # Errors
/// What Python raises.
pub(crate) fn call(
    interpreter: &mut Interpreter<'_>,
    owner: &Value,
    name: &Arc<str>,
    arguments: Arguments,
) -> Outcome<Value> {
    interpreter.meter.spend(1)?;
    match owner {
        Value::Str(text) => string::call(interpreter, text, name, arguments),
        _ => containers::call(interpreter, owner, name, arguments),
    }
}

/// The error of a method that takes a text and got something else.
fn not_text(method: &str, value: &Value) -> crate::error::TemplateError {
    match value.require_defined() {
        Err(error) => error,
        Ok(()) => type_error(format!("{method}() argument must be str, not {}", value.type_name())),
    }
}
