//! Methods of `str` that cut it up.

use super::not_text;
use crate::error::{Outcome, value_error};
use crate::eval::Interpreter;
use crate::text::is_space;
use crate::value::{Arguments, Text, Value};

/// `split` and, from the right, `rsplit`.
pub(super) fn split(
    interpreter: &mut Interpreter<'_>,
    text: &Text,
    arguments: Arguments,
    from_right: bool,
) -> Outcome<Value> {
    let method = if from_right { "rsplit" } else { "split" };
    let mut parameters = arguments.bind(method, &["sep", "maxsplit"], 0)?;
    let separator = parameters.take_or(0, Value::None);
    let most = usize::try_from(parameters.integer(1, -1)?).unwrap_or(usize::MAX);
    interpreter.meter.allocate(text.text.len())?;
    let parts: Vec<&str> = match &separator {
        Value::None if from_right => rsplit_whitespace(&text.text, most),
        Value::None => split_whitespace(&text.text, most),
        Value::Str(separator) if separator.text.is_empty() => {
            return Err(value_error("empty separator"));
        }
        Value::Str(separator) if from_right => {
            let mut parts: Vec<&str> = text.text.rsplitn(most.saturating_add(1), &*separator.text).collect();
            parts.reverse();
            parts
        }
        Value::Str(separator) => text.text.splitn(most.saturating_add(1), &*separator.text).collect(),
        other => return Err(not_text(method, other)),
    };
    interpreter.meter.allocate_items(parts.len())?;
    Ok(Value::list(parts.into_iter().map(|part| Value::text_like(text, part)).collect()))
}

fn split_whitespace(text: &str, most: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text.trim_start_matches(is_space);
    while !rest.is_empty() {
        if parts.len() == most {
            parts.push(rest);
            break;
        }
        let end = rest.find(is_space).unwrap_or(rest.len());
        parts.push(&rest[..end]);
        rest = rest[end..].trim_start_matches(is_space);
    }
    parts
}

fn rsplit_whitespace(text: &str, most: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text.trim_end_matches(is_space);
    while !rest.is_empty() {
        if parts.len() == most {
            parts.push(rest);
            break;
        }
        let start =
            rest.char_indices().rev().find(|&(_, c)| is_space(c)).map_or(0, |(at, c)| at + c.len_utf8());
        parts.push(&rest[start..]);
        rest = rest[..start].trim_end_matches(is_space);
    }
    parts.reverse();
    parts
}

/// `partition` and, from the right, `rpartition`.
pub(super) fn partition(text: &Text, arguments: Arguments, from_right: bool) -> Outcome<Value> {
    let separator = arguments.bind_positional("partition", 1, 1)?.take_or(0, Value::None);
    let Value::Str(separator) = &separator else {
        return Err(not_text("partition", &separator));
    };
    if separator.text.is_empty() {
        return Err(value_error("empty separator"));
    }
    let found = if from_right { text.text.rfind(&*separator.text) } else { text.text.find(&*separator.text) };
    let parts = match found {
        Some(at) => [&text.text[..at], &separator.text, &text.text[at + separator.text.len()..]],
        None if from_right => ["", "", &text.text],
        None => [&*text.text, "", ""],
    };
    Ok(Value::tuple(parts.into_iter().map(|part| Value::text_like(text, part)).collect()))
}

/// `splitlines`.
pub(super) fn splitlines(
    interpreter: &mut Interpreter<'_>,
    text: &Text,
    arguments: Arguments,
) -> Outcome<Value> {
    let mut parameters = arguments.bind("splitlines", &["keepends"], 0)?;
    let lines = lines(&text.text, parameters.flag(0, false));
    interpreter.meter.allocate(text.text.len())?;
    interpreter.meter.allocate_items(lines.len())?;
    Ok(Value::list(lines.into_iter().map(|line| Value::text_like(text, line)).collect()))
}

/// The lines of a text, by Python's many line ends.
pub(crate) fn lines(text: &str, keep_ends: bool) -> Vec<&str> {
    let ends = |c: char| {
        matches!(
            c,
            '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
        )
    };
    let mut lines = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let Some((at, end)) = rest.char_indices().find(|&(_, c)| ends(c)) else {
            lines.push(rest);
            break;
        };
        let after = if rest[at..].starts_with("\r\n") { at + 2 } else { at + end.len_utf8() };
        lines.push(if keep_ends { &rest[..after] } else { &rest[..at] });
        rest = &rest[after..];
    }
    lines
}
