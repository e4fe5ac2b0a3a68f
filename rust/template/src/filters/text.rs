//! Filters for text. They take any value, as its text.

use std::sync::Arc;

use super::argument_error;
use crate::error::{Outcome, TemplateError, type_error};
use crate::eval::Interpreter;
use crate::methods;
use crate::text::{self, is_space};
use crate::value::{Arguments, Dict, Text, Value};

/// Calls a method of the value's text.
fn method(
    interpreter: &mut Interpreter<'_>,
    value: &Value,
    name: &str,
    arguments: Arguments,
) -> Outcome<Value> {
    let text = value.to_text(interpreter)?;
    methods::call(interpreter, &Value::Str(text), &Arc::from(name), arguments)
}

/// `capitalize`.
pub(super) fn capitalize(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    arguments: Arguments,
) -> Outcome<Value> {
    arguments.bind("capitalize", &[], 0)?;
    method(interpreter, &value, "capitalize", Arguments::default())
}

/// `upper`.
pub(super) fn upper(interpreter: &mut Interpreter<'_>, value: Value, arguments: Arguments) -> Outcome<Value> {
    arguments.bind("upper", &[], 0)?;
    method(interpreter, &value, "upper", Arguments::default())
}

/// `lower`.
pub(super) fn lower(interpreter: &mut Interpreter<'_>, value: Value, arguments: Arguments) -> Outcome<Value> {
    arguments.bind("lower", &[], 0)?;
    method(interpreter, &value, "lower", Arguments::default())
}

/// `center`.
pub(super) fn center(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    arguments: Arguments,
) -> Outcome<Value> {
    let mut parameters = arguments.bind("center", &["width"], 0)?;
    let width = Value::Int(parameters.integer(0, 80)?);
    method(interpreter, &value, "center", Arguments::positional(vec![width]))
}

/// `trim`.
pub(super) fn trim(interpreter: &mut Interpreter<'_>, value: Value, arguments: Arguments) -> Outcome<Value> {
    let mut parameters = arguments.bind("trim", &["chars"], 0)?;
    let characters = parameters.take_or(0, Value::None);
    method(interpreter, &value, "strip", Arguments::positional(vec![characters]))
}

/// `string`.
pub(super) fn string(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    arguments: Arguments,
) -> Outcome<Value> {
    arguments.bind("string", &[], 0)?;
    Ok(Value::Str(value.to_text(interpreter)?))
}

/// `title`: unlike the method, a word starts only after a space, a hyphen or an opening bracket.
pub(super) fn title(interpreter: &mut Interpreter<'_>, value: Value, arguments: Arguments) -> Outcome<Value> {
    arguments.bind("title", &[], 0)?;
    let text = value.to_text(interpreter)?;
    interpreter.meter.allocate(text.text.len())?;
    let starts_word = |c: char| is_space(c) || matches!(c, '-' | '(' | '{' | '[' | '<');
    let mut out = String::with_capacity(text.text.len());
    let mut rest = &*text.text;
    while let Some(first) = rest.chars().next() {
        let separator = starts_word(first);
        let end = rest.find(|c: char| starts_word(c) != separator).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        if separator {
            out.push_str(word);
        } else {
            let (first, tail) = word.split_at(first.len_utf8());
            out.push_str(&first.to_uppercase());
            out.push_str(&tail.to_lowercase());
        }
        rest = after;
    }
    Ok(Value::text(out))
}

/// `replace`.
pub(super) fn replace(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    arguments: Arguments,
) -> Outcome<Value> {
    let mut parameters = arguments.bind("replace", &["old", "new", "count"], 2)?;
    let old = parameters.take_or(0, Value::None).to_text(interpreter)?;
    let new = parameters.take_or(1, Value::None).to_text(interpreter)?;
    let count = parameters.optional_integer(2)?.unwrap_or(-1);
    let text = value.to_text(interpreter)?;
    let plain = |text: Text| Value::text(text.text);
    let subject = if interpreter.autoescape() { Value::Str(text) } else { plain(text) };
    let arguments = vec![plain(old), plain(new), Value::Int(count)];
    methods::call(interpreter, &subject, &Arc::from("replace"), Arguments::positional(arguments))
}

/// `format`: the `%` operator.
pub(super) fn format(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    arguments: Arguments,
) -> Outcome<Value> {
    if !arguments.positional.is_empty() && !arguments.named.is_empty() {
        return Err(argument_error("can't handle positional and keyword arguments at the same time"));
    }
    let right = if arguments.named.is_empty() {
        Value::tuple(arguments.positional)
    } else {
        let mut named = Dict::with_capacity(arguments.named.len());
        for (name, value) in &arguments.named {
            named.set_str(name, value.clone());
        }
        Value::dict(named)
    };
    let text = value.to_text(interpreter)?;
    crate::eval::percent_text(interpreter, &text, &right)
}

/// `indent`.
pub(super) fn indent(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    arguments: Arguments,
) -> Outcome<Value> {
    let mut parameters = arguments.bind("indent", &["width", "first", "blank"], 0)?;
    let indention: Arc<str> = match parameters.take_or(0, Value::Int(4)) {
        Value::Str(text) => text.text,
        other => {
            let width = other.as_index().ok_or_else(|| {
                type_error(format!("can't multiply sequence by non-int of type '{}'", other.type_name()))
            })?;
            let width = usize::try_from(width).unwrap_or(0);
            interpreter.meter.allocate(width)?;
            Arc::from(" ".repeat(width))
        }
    };
    let (first, blank) = (parameters.flag(1, false), parameters.flag(2, false));
    value.require_defined()?;
    let Value::Str(text) = &value else {
        return Err(type_error(format!(
            "unsupported operand type(s) for +=: '{}' and 'str'",
            value.type_name()
        )));
    };
    let source = format!("{}\n", text.text);
    let lines = methods::lines(&source, false);
    interpreter.meter.allocate(source.len() + lines.len().saturating_mul(indention.len()))?;
    let mut out = String::new();
    for (at, line) in lines.iter().enumerate() {
        if at > 0 {
            out.push('\n');
        }
        if at == 0 && first || at > 0 && (blank || !line.is_empty()) {
            out.push_str(&indention);
        }
        out.push_str(line);
    }
    Ok(Value::text_like(text, out))
}

/// `truncate`.
pub(super) fn truncate(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    arguments: Arguments,
) -> Outcome<Value> {
    let mut parameters = arguments.bind("truncate", &["length", "killwords", "end", "leeway"], 0)?;
    let length = parameters.integer(0, 255)?;
    let whole_words = !parameters.flag(1, false);
    let end = parameters.take_or(2, Value::text("...")).to_text(interpreter)?;
    let leeway = parameters.optional_integer(3)?.unwrap_or(5);
    let end_length = i64::try_from(text::length(&end.text)).unwrap_or(i64::MAX);
    if length < end_length || leeway < 0 {
        return Err(TemplateError::Operation {
            exception: "AssertionError",
            message: format!("expected length >= {end_length}, got {length}"),
        });
    }
    let actual = i64::try_from(value.length()?).unwrap_or(i64::MAX);
    if actual <= length.saturating_add(leeway) {
        return Ok(value);
    }
    let Value::Str(source) = &value else {
        return Err(type_error(format!("'{}' object has no attribute 'rsplit'", value.type_name())));
    };
    let kept = usize::try_from(length - end_length).unwrap_or(0);
    let mut kept = &source.text[..text::byte_offset(&source.text, kept)];
    if whole_words && let Some(space) = kept.rfind(' ') {
        kept = &kept[..space];
    }
    Ok(Value::text_like(source, format!("{kept}{}", end.text)))
}

/// `wordcount`.
pub(super) fn wordcount(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    arguments: Arguments,
) -> Outcome<Value> {
    arguments.bind("wordcount", &[], 0)?;
    let text = value.to_text(interpreter)?;
    let words = text.text.split(|c: char| c != '_' && !c.is_alphanumeric()).filter(|word| !word.is_empty());
    Ok(Value::size(words.count()))
}

/// `wordwrap`: lines of at most `width` characters, broken at spaces.
pub(super) fn wordwrap(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    arguments: Arguments,
) -> Outcome<Value> {
    let names = ["width", "break_long_words", "wrapstring", "break_on_hyphens"];
    let mut parameters = arguments.bind("wordwrap", &names, 0)?;
    let width = usize::try_from(parameters.integer(0, 79)?).unwrap_or(0).max(1);
    let break_long = parameters.flag(1, true);
    let separator = match parameters.take_or(2, Value::None) {
        Value::None => Arc::from("\n"),
        other => other.to_text(interpreter)?.text,
    };
    let text = value.to_text(interpreter)?;
    interpreter.meter.allocate(text.text.len().saturating_mul(1 + separator.len()))?;
    let mut wrapped = Vec::new();
    for line in methods::lines(&text.text, false) {
        wrap_line(line, width, break_long, &mut wrapped);
    }
    Ok(Value::text(wrapped.join(&separator)))
}

fn wrap_line(line: &str, width: usize, break_long: bool, wrapped: &mut Vec<String>) {
    let mut current = String::new();
    let mut length = 0;
    for word in line.split_inclusive(' ') {
        let mut word = word;
        loop {
            let bare = text::length(word.trim_end_matches(' '));
            if length + bare <= width {
                current.push_str(word);
                length += text::length(word);
                break;
            }
            if break_long && bare > width {
                let cut = text::byte_offset(word, width - length.min(width));
                current.push_str(&word[..cut]);
                word = &word[cut..];
            } else if current.is_empty() {
                current.push_str(word);
                length = width + 1;
                break;
            }
            wrapped.push(current.trim_end_matches(' ').to_owned());
            current.clear();
            length = 0;
        }
    }
    wrapped.push(current.trim_end_matches(' ').to_owned());
}

/// `pprint`: as `repr`, with the keys of dicts sorted. Lines are not wrapped.
pub(super) fn pprint(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    arguments: Arguments,
) -> Outcome<Value> {
    arguments.bind("pprint", &[], 0)?;
    let sorted = sorted_keys(interpreter, &value)?;
    let mut out = String::new();
    sorted.write_repr(interpreter, &mut out)?;
    Ok(Value::text(out))
}

fn sorted_keys(interpreter: &mut Interpreter<'_>, value: &Value) -> Outcome<Value> {
    interpreter.meter.spend(1)?;
    value.check_depth()?;
    let mut each = |items: &[Value]| {
        items.iter().map(|item| sorted_keys(interpreter, item)).collect::<Outcome<Vec<_>>>()
    };
    Ok(match value {
        Value::List(items) => Value::list(each(&items.items)?),
        Value::Tuple(items) => Value::tuple(each(&items.items)?),
        Value::Dict(dict) => {
            let mut entries = dict.entries().to_vec();
            entries.sort_by(|a, b| {
                crate::value::order(&a.0, &b.0, "<")
                    .ok()
                    .flatten()
                    .unwrap_or_else(|| a.0.type_name().cmp(b.0.type_name()))
            });
            let mut sorted = Dict::with_capacity(entries.len());
            for (key, value) in entries {
                sorted.set(key, sorted_keys(interpreter, &value)?)?;
            }
            Value::dict(sorted)
        }
        other => other.clone(),
    })
}
