//! `tojson`: Python's `json.dumps`.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::error::{Outcome, TemplateError, type_error, value_error};
use crate::eval::Interpreter;
use crate::text::{as_surrogate, float_text};
use crate::value::{Arguments, Value, less_than};

/// How to write JSON.
struct Style {
    ensure_ascii: bool,
    indent: Option<String>,
    item_separator: Arc<str>,
    key_separator: Arc<str>,
    sort_keys: bool,
}

/// `tojson`, with the arguments in the order that transformers gives them.
pub(super) fn tojson(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    arguments: Arguments,
) -> Outcome<Value> {
    let mut parameters =
        arguments.bind("tojson", &["ensure_ascii", "indent", "separators", "sort_keys"], 0)?;
    let ensure_ascii = parameters.flag(0, false);
    let indent = match parameters.take_or(1, Value::None) {
        Value::None => None,
        Value::Str(text) => Some(text.text.to_string()),
        other => {
            let Some(width) = other.as_index() else {
                return Err(type_error(format!(
                    "can't multiply sequence by non-int of type '{}'",
                    other.type_name()
                )));
            };
            let width = usize::try_from(width).unwrap_or(0);
            interpreter.meter.allocate(width)?;
            Some(" ".repeat(width))
        }
    };
    let (item_separator, key_separator) = match parameters.take_or(2, Value::None) {
        Value::None => (Arc::from(if indent.is_none() { ", " } else { "," }), Arc::from(": ")),
        separators => match separators.iterate(interpreter)?.as_slice() {
            [Value::Str(item), Value::Str(key)] => (Arc::clone(&item.text), Arc::clone(&key.text)),
            _ => return Err(value_error("separators must be two texts")),
        },
    };
    let style =
        Style { ensure_ascii, indent, item_separator, key_separator, sort_keys: parameters.flag(3, false) };
    let mut out = String::new();
    write(interpreter, &style, &value, 0, &mut out)?;
    Ok(Value::text(out))
}

fn write(
    interpreter: &mut Interpreter<'_>,
    style: &Style,
    value: &Value,
    level: usize,
    out: &mut String,
) -> Outcome<()> {
    interpreter.meter.spend(1)?;
    value.check_depth()?;
    match value {
        Value::None => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        // Writing to a text does not fail.
        Value::Int(value) => {
            let _ = write!(out, "{value}");
        }
        Value::Big(_) => value.write_str(interpreter, out)?,
        Value::Float(value) => out.push_str(&float_json(*value)),
        Value::Str(text) => {
            interpreter.meter.allocate(out.len() + text.text.len())?;
            write_text(&text.text, style.ensure_ascii, out);
        }
        Value::List(items) | Value::Tuple(items) => {
            if items.items.is_empty() {
                out.push_str("[]");
                return Ok(());
            }
            out.push('[');
            for (at, item) in items.items.iter().enumerate() {
                separate(interpreter, style, at, level + 1, out)?;
                nested(|| write(interpreter, style, item, level + 1, out))?;
            }
            new_line(interpreter, style, level, out)?;
            out.push(']');
        }
        Value::Dict(dict) => {
            if dict.is_empty() {
                out.push_str("{}");
                return Ok(());
            }
            out.push('{');
            let mut entries: Vec<&(Value, Value)> = dict.entries().iter().collect();
            if style.sort_keys {
                sort_by_key(&mut entries)?;
            }
            for (at, (key, value)) in entries.into_iter().enumerate() {
                separate(interpreter, style, at, level + 1, out)?;
                let key = key_text(interpreter, key)?;
                write_text(&key, style.ensure_ascii, out);
                out.push_str(&style.key_separator);
                nested(|| write(interpreter, style, value, level + 1, out))?;
            }
            new_line(interpreter, style, level, out)?;
            out.push('}');
        }
        _ => {
            return Err(type_error(format!("Object of type {} is not JSON serializable", value.type_name())));
        }
    }
    Ok(())
}

fn nested<T>(write: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(crate::eval::STACK_RED_ZONE, crate::eval::STACK_GROWTH, write)
}

/// What goes before an item: the separator unless it is the first, then a new line.
fn separate(
    interpreter: &mut Interpreter<'_>,
    style: &Style,
    at: usize,
    level: usize,
    out: &mut String,
) -> Outcome<()> {
    if at > 0 {
        out.push_str(&style.item_separator);
    }
    new_line(interpreter, style, level, out)
}

fn new_line(interpreter: &mut Interpreter<'_>, style: &Style, level: usize, out: &mut String) -> Outcome<()> {
    if let Some(indent) = &style.indent {
        interpreter.meter.allocate(out.len() + indent.len() * level)?;
        out.push('\n');
        for _ in 0..level {
            out.push_str(indent);
        }
    }
    Ok(())
}

fn sort_by_key(entries: &mut [&(Value, Value)]) -> Outcome<()> {
    let mut failure = None;
    entries.sort_by(|a, b| match less_than(&a.0, &b.0) {
        Ok(true) => std::cmp::Ordering::Less,
        Ok(false) => match less_than(&b.0, &a.0) {
            Ok(true) => std::cmp::Ordering::Greater,
            _ => std::cmp::Ordering::Equal,
        },
        Err(error) => {
            failure.get_or_insert(error);
            std::cmp::Ordering::Equal
        }
    });
    failure.map_or(Ok(()), Err)
}

fn key_text(interpreter: &mut Interpreter<'_>, key: &Value) -> Result<Arc<str>, TemplateError> {
    Ok(match key {
        Value::Str(text) => Arc::clone(&text.text),
        Value::Bool(value) => Arc::from(if *value { "true" } else { "false" }),
        Value::None => Arc::from("null"),
        Value::Float(value) => Arc::from(float_json(*value)),
        Value::Int(_) | Value::Big(_) => key.to_text(interpreter)?.text,
        _ => {
            return Err(type_error(format!(
                "keys must be str, int, float, bool or None, not {}",
                key.type_name()
            )));
        }
    })
}

fn float_json(value: f64) -> String {
    if value.is_nan() {
        "NaN".to_owned()
    } else if value.is_infinite() {
        if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned()
    } else {
        float_text(value)
    }
}

fn write_text(text: &str, ensure_ascii: bool, out: &mut String) {
    out.push('"');
    let mut clean = 0;
    for (at, character) in text.char_indices() {
        let escapes = matches!(character, '"' | '\\' | '\0'..='\u{1f}') || ensure_ascii && character > '~';
        if !escapes {
            continue;
        }
        out.push_str(&text[clean..at]);
        clean = at + character.len_utf8();
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            other => match as_surrogate(other) {
                Some(code) => {
                    let _ = write!(out, "\\u{code:04x}");
                }
                None => {
                    for unit in other.encode_utf16(&mut [0; 2]) {
                        let _ = write!(out, "\\u{unit:04x}");
                    }
                }
            },
        }
    }
    out.push_str(&text[clean..]);
    out.push('"');
}
