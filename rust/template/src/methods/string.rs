//! Methods of `str`.

use std::sync::Arc;

use super::{format, not_text, predicates, search, split};
use crate::error::{Outcome, type_error};
use crate::eval::Interpreter;
use crate::text::{self, is_space, length};
use crate::value::{Arguments, Dict, Text, Value};

/// Calls a method of a text.
pub(super) fn call(
    interpreter: &mut Interpreter<'_>,
    subject: &Text,
    name: &Arc<str>,
    arguments: Arguments,
) -> Outcome<Value> {
    let source = &*subject.text;
    if let Some(answer) = predicates::ask(name, source) {
        arguments.bind_positional(name, 0, 0)?;
        return Ok(Value::Bool(answer));
    }
    let changed: Option<fn(&str) -> String> = match &**name {
        "capitalize" => Some(text::capitalized),
        "casefold" => Some(casefolded),
        "lower" => Some(text::lowercased),
        "swapcase" => Some(text::swapped_case),
        "title" => Some(text::titled),
        "upper" => Some(text::uppercased),
        _ => None,
    };
    if let Some(changed) = changed {
        arguments.bind_positional(name, 0, 0)?;
        interpreter.meter.allocate(source.len())?;
        return Ok(Value::text_like(subject, changed(source)));
    }
    match &**name {
        "strip" | "lstrip" | "rstrip" => strip(subject, name, arguments),
        "split" => split::split(interpreter, subject, arguments, false),
        "rsplit" => split::split(interpreter, subject, arguments, true),
        "partition" => split::partition(subject, arguments, false),
        "rpartition" => split::partition(subject, arguments, true),
        "splitlines" => split::splitlines(interpreter, subject, arguments),
        "startswith" | "endswith" => search::affix(subject, name, arguments),
        "find" | "rfind" | "index" | "rindex" => search::find(interpreter, subject, name, arguments),
        "count" => search::count(interpreter, subject, arguments),
        "replace" => replace(interpreter, subject, arguments),
        "removeprefix" | "removesuffix" => {
            let affix = arguments.bind_positional(name, 1, 1)?.take_or(0, Value::None);
            let Value::Str(affix) = &affix else {
                return Err(not_text(name, &affix));
            };
            let rest = if &**name == "removeprefix" {
                source.strip_prefix(&*affix.text)
            } else {
                source.strip_suffix(&*affix.text)
            };
            Ok(Value::text_like(subject, rest.unwrap_or(source)))
        }
        "join" => join(interpreter, subject, arguments),
        "center" | "ljust" | "rjust" => justify(interpreter, subject, name, arguments),
        "zfill" => zero_fill(interpreter, subject, arguments),
        "expandtabs" => expand_tabs(interpreter, subject, arguments),
        "format" => format::format(interpreter, subject, &arguments),
        "format_map" => {
            let mapping = arguments.bind_positional(name, 1, 1)?.take_or(0, Value::None);
            let Value::Dict(dict) = &mapping else {
                return Err(type_error("format_map() argument must be a mapping"));
            };
            let named = dict.entries().iter().filter_map(|(key, value)| match key {
                Value::Str(key) => Some((Arc::clone(&key.text), value.clone())),
                _ => None,
            });
            format::format(
                interpreter,
                subject,
                &Arguments { positional: Vec::new(), named: named.collect() },
            )
        }
        "encode" => {
            arguments.bind(name, &["encoding", "errors"], 0)?;
            interpreter.meter.allocate(source.len())?;
            Ok(Value::Bytes(source.bytes().collect()))
        }
        "translate" => translate(interpreter, subject, arguments),
        "maketrans" => make_translation(interpreter, arguments),
        "striptags" => Ok(Value::text(text::strip_tags(source))),
        "unescape" => Ok(Value::text(text::unescape(source))),
        "escape" => {
            let value =
                arguments.bind_positional(name, 1, 1)?.take_or(0, Value::None).to_text(interpreter)?;
            Ok(if value.markup { Value::Str(value) } else { Value::markup(text::escape(&value.text)) })
        }
        _ => Err(type_error(format!("'str' object has no method '{name}'"))),
    }
}

/// `casefold`: lower case, and what Unicode folds to several letters.
fn casefolded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            'ß' | 'ẞ' => out.push_str("ss"),
            'ς' => out.push('σ'),
            'ﬀ'..='ﬆ' => {
                out.push_str(&character.to_uppercase().collect::<String>().to_lowercase());
            }
            other => out.extend(other.to_lowercase()),
        }
    }
    out
}

fn strip(subject: &Text, name: &str, arguments: Arguments) -> Outcome<Value> {
    let characters = arguments.bind_positional(name, 1, 0)?.take_or(0, Value::None);
    let within: Box<dyn Fn(char) -> bool> = match &characters {
        Value::None => Box::new(is_space),
        Value::Str(set) => {
            let set = Arc::clone(&set.text);
            Box::new(move |c| set.contains(c))
        }
        other => return Err(not_text(name, other)),
    };
    let mut rest = &*subject.text;
    if name != "rstrip" {
        rest = rest.trim_start_matches(&*within);
    }
    if name != "lstrip" {
        rest = rest.trim_end_matches(&*within);
    }
    Ok(if rest.len() == subject.text.len() {
        Value::Str(subject.clone())
    } else {
        Value::text_like(subject, rest)
    })
}

fn replace(interpreter: &mut Interpreter<'_>, subject: &Text, arguments: Arguments) -> Outcome<Value> {
    let mut parameters = arguments.bind_positional("replace", 3, 2)?;
    let (old, new) = (parameters.take_or(0, Value::None), parameters.take_or(1, Value::None));
    let (Value::Str(old), Value::Str(new)) = (&old, &new) else {
        return Err(not_text("replace", if matches!(old, Value::Str(_)) { &new } else { &old }));
    };
    let most = usize::try_from(parameters.integer(2, -1)?).unwrap_or(usize::MAX);
    let source = &*subject.text;
    let replacement: Arc<str> = if subject.markup && !new.markup {
        Arc::from(text::escape(&new.text))
    } else {
        Arc::clone(&new.text)
    };
    interpreter.meter.spend(source.len() / 64)?;
    let found = if old.text.is_empty() { length(source) + 1 } else { source.matches(&*old.text).count() };
    interpreter
        .meter
        .allocate(source.len().saturating_add(found.min(most).saturating_mul(replacement.len())))?;
    Ok(Value::text_like(subject, source.replacen(&*old.text, &replacement, most)))
}

fn join(interpreter: &mut Interpreter<'_>, subject: &Text, arguments: Arguments) -> Outcome<Value> {
    let items = arguments.bind_positional("join", 1, 1)?.take_or(0, Value::None).iterate(interpreter)?;
    let mut out = String::new();
    for (at, item) in items.iter().enumerate() {
        let part = match item {
            Value::Str(part) => part.clone(),
            other if subject.markup => other.to_text(interpreter)?,
            other => {
                return Err(type_error(format!(
                    "sequence item {at}: expected str instance, {} found",
                    other.type_name()
                )));
            }
        };
        interpreter.meter.allocate(out.len() + subject.text.len() + part.text.len())?;
        if at > 0 {
            out.push_str(&subject.text);
        }
        if subject.markup && !part.markup {
            out.push_str(&text::escape(&part.text));
        } else {
            out.push_str(&part.text);
        }
    }
    Ok(Value::text_like(subject, out))
}

fn justify(
    interpreter: &mut Interpreter<'_>,
    subject: &Text,
    name: &str,
    arguments: Arguments,
) -> Outcome<Value> {
    let mut parameters = arguments.bind_positional(name, 2, 1)?;
    let width = usize::try_from(parameters.integer(0, 0)?).unwrap_or(0);
    let fill = match parameters.take(1) {
        None => ' ',
        Some(Value::Str(fill)) if length(&fill.text) == 1 => fill.text.chars().next().unwrap_or(' '),
        Some(_) => {
            return Err(type_error("The fill character must be exactly one character long"));
        }
    };
    let missing = width.saturating_sub(length(&subject.text));
    interpreter.meter.allocate(missing.saturating_mul(fill.len_utf8()).saturating_add(subject.text.len()))?;
    let left = match name {
        "ljust" => 0,
        "rjust" => missing,
        // The odd one goes to the left if the width is odd, as in Python.
        _ => missing / 2 + (missing & width & 1),
    };
    let mut out = String::with_capacity(subject.text.len() + missing * fill.len_utf8());
    out.extend(std::iter::repeat_n(fill, left));
    out.push_str(&subject.text);
    out.extend(std::iter::repeat_n(fill, missing - left));
    Ok(Value::text_like(subject, out))
}

fn zero_fill(interpreter: &mut Interpreter<'_>, subject: &Text, arguments: Arguments) -> Outcome<Value> {
    let width = usize::try_from(arguments.bind_positional("zfill", 1, 1)?.integer(0, 0)?).unwrap_or(0);
    let missing = width.saturating_sub(length(&subject.text));
    interpreter.meter.allocate(missing.saturating_add(subject.text.len()))?;
    let sign = subject.text.starts_with(['+', '-']);
    let (sign, digits) = subject.text.split_at(usize::from(sign));
    Ok(Value::text_like(subject, format!("{sign}{}{digits}", "0".repeat(missing))))
}

fn expand_tabs(interpreter: &mut Interpreter<'_>, subject: &Text, arguments: Arguments) -> Outcome<Value> {
    let size = usize::try_from(arguments.bind("expandtabs", &["tabsize"], 0)?.integer(0, 8)?).unwrap_or(0);
    let tabs = subject.text.matches('\t').count();
    interpreter.meter.allocate(subject.text.len().saturating_add(tabs.saturating_mul(size)))?;
    let mut out = String::new();
    let mut column = 0;
    for character in subject.text.chars() {
        match character {
            '\t' => {
                let spaces = if size == 0 { 0 } else { size - column % size };
                out.extend(std::iter::repeat_n(' ', spaces));
                column += spaces;
            }
            other => {
                out.push(other);
                column = if matches!(other, '\n' | '\r') { 0 } else { column + 1 };
            }
        }
    }
    Ok(Value::text_like(subject, out))
}

fn translate(interpreter: &mut Interpreter<'_>, subject: &Text, arguments: Arguments) -> Outcome<Value> {
    let table = arguments.bind_positional("translate", 1, 1)?.take_or(0, Value::None);
    let Value::Dict(table) = &table else {
        return Err(type_error(format!("'{}' object is not subscriptable", table.type_name())));
    };
    let mut out = String::new();
    for character in subject.text.chars() {
        match table.get(&Value::Int(i64::from(u32::from(character))))? {
            None => out.push(character),
            Some(Value::None) => {}
            Some(Value::Str(text)) => {
                interpreter.meter.allocate(out.len() + text.text.len())?;
                out.push_str(&text.text);
            }
            Some(other) => {
                let code =
                    other.as_index().and_then(|code| u32::try_from(code).ok()).and_then(char::from_u32);
                out.push(
                    code.ok_or_else(|| type_error("character mapping must return integer, None or str"))?,
                );
            }
        }
    }
    Ok(Value::text_like(subject, out))
}

/// `str.maketrans`, of two texts of the same length or of a dict.
fn make_translation(interpreter: &mut Interpreter<'_>, arguments: Arguments) -> Outcome<Value> {
    let mut parameters = arguments.bind_positional("maketrans", 3, 1)?;
    let code = |c: char| Value::Int(i64::from(u32::from(c)));
    let mut table = Dict::default();
    match (parameters.take_or(0, Value::None), parameters.take(1)) {
        (Value::Str(from), Some(Value::Str(to))) if length(&from.text) == length(&to.text) => {
            for (from, to) in from.text.chars().zip(to.text.chars()) {
                table.set(code(from), code(to))?;
            }
        }
        (Value::Dict(dict), None) => {
            for (key, value) in dict.entries() {
                let key = match key.as_str().map(|text| text.chars().collect::<Vec<_>>()) {
                    Some(characters) if characters.len() == 1 => code(characters[0]),
                    _ => key.clone(),
                };
                table.set(key, value.clone())?;
            }
        }
        _ => {
            return Err(type_error("maketrans() takes a dict, or texts of equal length"));
        }
    }
    if let Some(removed) = parameters.take(2) {
        for character in removed.to_text(interpreter)?.text.chars() {
            table.set(code(character), Value::None)?;
        }
    }
    Ok(Value::dict(table))
}
