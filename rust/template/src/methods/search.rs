//! Methods of `str` that look for something in it.

use super::not_text;
use crate::error::{Outcome, type_error, value_error};
use crate::eval::Interpreter;
use crate::text::{byte_offset, length};
use crate::value::{Arguments, Parameters, Text, Value};

/// The part of a text that the arguments `start` and `end` name. `None` if it starts after the end.
struct Window<'t> {
    part: &'t str,
    /// Code points before it.
    before: usize,
}

fn window<'t>(text: &'t str, parameters: &mut Parameters) -> Outcome<Option<Window<'t>>> {
    let (start, end) = (parameters.optional_integer(1)?, parameters.optional_integer(2)?);
    if start.is_none() && end.is_none() {
        return Ok(Some(Window { part: text, before: 0 }));
    }
    let total = i64::try_from(length(text)).unwrap_or(i64::MAX);
    let place = |at: i64| {
        if at < 0 { at.saturating_add(total).max(0) } else { at }
    };
    let (start, end) = (place(start.unwrap_or(0)), place(end.unwrap_or(total)).min(total));
    if start > end {
        return Ok(None);
    }
    let (before, end) = (usize::try_from(start).unwrap_or(0), usize::try_from(end).unwrap_or(0));
    let from = byte_offset(text, before);
    let to = from + byte_offset(&text[from..], end - before);
    Ok(Some(Window { part: &text[from..to], before }))
}

/// `find`, `rfind`, `index` and `rindex`.
pub(super) fn find(
    interpreter: &mut Interpreter<'_>,
    text: &Text,
    name: &str,
    arguments: Arguments,
) -> Outcome<Value> {
    let mut parameters = arguments.bind_positional(name, 3, 1)?;
    let wanted = parameters.take_or(0, Value::None);
    let Value::Str(wanted) = &wanted else {
        return Err(not_text(name, &wanted));
    };
    interpreter.meter.spend(text.text.len() / 64)?;
    let found = window(&text.text, &mut parameters)?.and_then(|window| {
        let at = if name.starts_with('r') {
            window.part.rfind(&*wanted.text)
        } else {
            window.part.find(&*wanted.text)
        };
        at.map(|at| window.before + length(&window.part[..at]))
    });
    match found {
        Some(at) => Ok(Value::size(at)),
        None if name.ends_with("index") => Err(value_error("substring not found")),
        None => Ok(Value::Int(-1)),
    }
}

/// `count`.
pub(super) fn count(interpreter: &mut Interpreter<'_>, text: &Text, arguments: Arguments) -> Outcome<Value> {
    let mut parameters = arguments.bind_positional("count", 3, 1)?;
    let wanted = parameters.take_or(0, Value::None);
    let Value::Str(wanted) = &wanted else {
        return Err(not_text("count", &wanted));
    };
    interpreter.meter.spend(text.text.len() / 64)?;
    let Some(window) = window(&text.text, &mut parameters)? else {
        return Ok(Value::Int(0));
    };
    if wanted.text.is_empty() {
        return Ok(Value::size(length(window.part) + 1));
    }
    Ok(Value::size(window.part.matches(&*wanted.text).count()))
}

/// `startswith` and `endswith`.
pub(super) fn affix(text: &Text, name: &str, arguments: Arguments) -> Outcome<Value> {
    let mut parameters = arguments.bind_positional(name, 3, 1)?;
    let wanted = parameters.take_or(0, Value::None);
    let candidates = match &wanted {
        Value::Tuple(items) => items.items.clone(),
        Value::Str(_) => vec![wanted],
        other => {
            other.require_defined()?;
            return Err(type_error(format!(
                "{name} first arg must be str or a tuple of str, not {}",
                other.type_name()
            )));
        }
    };
    let Some(window) = window(&text.text, &mut parameters)? else {
        return Ok(Value::Bool(false));
    };
    for candidate in &candidates {
        let Value::Str(affix) = candidate else {
            return Err(type_error(format!(
                "tuple for {name} must only contain str, not {}",
                candidate.type_name()
            )));
        };
        let found = if name == "startswith" {
            window.part.starts_with(&*affix.text)
        } else {
            window.part.ends_with(&*affix.text)
        };
        if found {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}
