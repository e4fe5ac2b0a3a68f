//! Filters for HTML and URLs.

use std::fmt::Write as _;

use crate::error::{Outcome, type_error, value_error};
use crate::eval::Interpreter;
use crate::text;
use crate::value::{Arguments, Value};

/// `escape`: as HTML, unless that is done already.
pub(super) fn escape(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    arguments: Arguments,
) -> Outcome<Value> {
    arguments.bind("escape", &[], 0)?;
    let plain = value.to_text(interpreter)?;
    if plain.markup {
        return Ok(value);
    }
    interpreter.meter.allocate(plain.text.len() * 2)?;
    Ok(Value::markup(text::escape(&plain.text)))
}

/// `forceescape`: as HTML, even if that is done already.
pub(super) fn forceescape(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    arguments: Arguments,
) -> Outcome<Value> {
    arguments.bind("forceescape", &[], 0)?;
    let plain = value.to_text(interpreter)?;
    interpreter.meter.allocate(plain.text.len() * 2)?;
    Ok(Value::markup(text::escape(&plain.text)))
}

/// `safe`: marks a text as HTML.
pub(super) fn safe(interpreter: &mut Interpreter<'_>, value: Value, arguments: Arguments) -> Outcome<Value> {
    arguments.bind("safe", &[], 0)?;
    Ok(Value::markup(value.to_text(interpreter)?.text))
}

/// `striptags`.
pub(super) fn striptags(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    arguments: Arguments,
) -> Outcome<Value> {
    arguments.bind("striptags", &[], 0)?;
    let plain = value.to_text(interpreter)?;
    interpreter.meter.allocate(plain.text.len())?;
    Ok(Value::text(text::strip_tags(&plain.text)))
}

/// `urlencode`: of a text, or of pairs as a query.
pub(super) fn urlencode(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    arguments: Arguments,
) -> Outcome<Value> {
    arguments.bind("urlencode", &[], 0)?;
    let pairs = match &value {
        Value::Str(_) => None,
        Value::Dict(dict) => Some(dict.entries().to_vec()),
        other if other.is_iterable() => {
            let mut pairs = Vec::new();
            for pair in other.iterate(interpreter)? {
                match <[Value; 2]>::try_from(pair.iterate(interpreter)?) {
                    Ok([key, value]) => pairs.push((key, value)),
                    Err(_) => return Err(value_error("not enough values to unpack (expected 2)")),
                }
            }
            Some(pairs)
        }
        _ => None,
    };
    let mut out = String::new();
    match pairs {
        None => {
            let text = value.to_text(interpreter)?;
            interpreter.meter.allocate(text.text.len() * 3)?;
            quote(&text.text, false, &mut out);
        }
        Some(pairs) => {
            for (at, (key, value)) in pairs.into_iter().enumerate() {
                if at > 0 {
                    out.push('&');
                }
                let (key, value) = (key.to_text(interpreter)?, value.to_text(interpreter)?);
                interpreter.meter.allocate(out.len() + (key.text.len() + value.text.len()) * 3)?;
                quote(&key.text, true, &mut out);
                out.push('=');
                quote(&value.text, true, &mut out);
            }
        }
    }
    Ok(Value::text(out))
}

fn quote(text: &str, query: bool, out: &mut String) {
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'.' | b'-' | b'~' => {
                out.push(char::from(byte));
            }
            b'/' if !query => out.push('/'),
            b' ' if query => out.push('+'),
            // Writing to a text does not fail.
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
}

/// `xmlattr`: a dict as attributes of a tag.
pub(super) fn xmlattr(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    arguments: Arguments,
) -> Outcome<Value> {
    let mut parameters = arguments.bind("xmlattr", &["autospace"], 0)?;
    let autospace = parameters.flag(0, true);
    value.require_defined()?;
    let Value::Dict(dict) = &value else {
        return Err(type_error(format!("'{}' object has no attribute 'items'", value.type_name())));
    };
    let mut out = String::new();
    for (key, value) in dict.entries() {
        if matches!(value, Value::None | Value::Undefined(_)) {
            continue;
        }
        let Value::Str(name) = key else {
            return Err(type_error("expected string or bytes-like object"));
        };
        if name.text.contains(|c| text::is_space(c) || matches!(c, '/' | '>' | '=')) {
            return Err(value_error(format!("Invalid character in attribute name: '{}'", name.text)));
        }
        if autospace || !out.is_empty() {
            out.push(' ');
        }
        let text = value.to_text(interpreter)?;
        interpreter.meter.allocate(out.len() + (name.text.len() + text.text.len()) * 2)?;
        out.push_str(&text::escape(&name.text));
        out.push_str("=\"");
        out.push_str(&if text.markup { text.text.to_string() } else { text::escape(&text.text) });
        out.push('"');
    }
    Ok(if interpreter.autoescape() { Value::markup(out) } else { Value::text(out) })
}
