//! `str.format`.

use std::sync::Arc;

use super::format_spec::format_value;
use crate::error::{Outcome, TemplateError, value_error};
use crate::eval::{Interpreter, attribute, item};
use crate::text::escape;
use crate::value::{Arguments, Text, Value};

/// Specifications may hold fields themselves, but not those in turn.
const MAX_FIELD_DEPTH: usize = 2;

/// How fields without a name are numbered; with the number of the last one.
enum Numbering {
    Unknown,
    Automatic(usize),
    Manual,
}

struct Formatter<'a> {
    arguments: &'a Arguments,
    numbering: Numbering,
    markup: bool,
}

/// Formats a text with the arguments of a call.
///
/// # Errors
/// What Python raises for a malformed format, a missing argument or an unsupported specification.
pub(super) fn format(
    interpreter: &mut Interpreter<'_>,
    text: &Text,
    arguments: &Arguments,
) -> Outcome<Value> {
    let mut formatter = Formatter { arguments, numbering: Numbering::Unknown, markup: text.markup };
    let out = formatter.expand(interpreter, &text.text, MAX_FIELD_DEPTH)?;
    Ok(Value::text_like(text, out))
}

impl Formatter<'_> {
    fn expand(&mut self, interpreter: &mut Interpreter<'_>, format: &str, depth: usize) -> Outcome<String> {
        if depth == 0 {
            return Err(value_error("Max string recursion exceeded"));
        }
        let mut out = String::with_capacity(format.len());
        let mut rest = format;
        while let Some(at) = rest.find(['{', '}']) {
            out.push_str(&rest[..at]);
            let (brace, after) = rest[at..].split_at(1);
            if after.starts_with(brace) {
                out.push_str(brace);
                rest = &after[1..];
                continue;
            }
            if brace == "}" {
                return Err(value_error("Single '}' encountered in format string"));
            }
            let end = field_end(after)?;
            out.push_str(&self.field(interpreter, &after[..end], depth)?);
            interpreter.meter.allocate(out.len())?;
            rest = &after[end + 1..];
        }
        out.push_str(rest);
        interpreter.meter.allocate(out.len())?;
        Ok(out)
    }

    /// Formats one field: `name!conversion:specification`.
    fn field(&mut self, interpreter: &mut Interpreter<'_>, field: &str, depth: usize) -> Outcome<String> {
        let bracketed = field.find(['[', '!', ':']).filter(|&at| field[at..].starts_with('['));
        let search = bracketed.and_then(|at| field[at..].rfind(']').map(|end| at + end)).unwrap_or(0);
        let split = field[search..].find(['!', ':']).map(|at| at + search);
        let (path, tail) = split.map_or((field, ""), |at| field.split_at(at));
        let (conversion, spec) = match tail.strip_prefix('!') {
            Some(tail) => match tail.split_once(':') {
                Some((conversion, spec)) => (Some(conversion), spec),
                None => (Some(tail), ""),
            },
            None => (None, tail.strip_prefix(':').unwrap_or("")),
        };
        let mut value = self.value(interpreter, path)?;
        match conversion {
            None => {}
            Some("s") => value = Value::Str(value.to_text(interpreter)?),
            Some("r" | "a") => {
                let mut out = String::new();
                value.write_repr(interpreter, &mut out)?;
                value = Value::text(out);
            }
            Some(other) => {
                return Err(value_error(format!("Unknown conversion specifier {other}")));
            }
        }
        let spec = if spec.contains(['{', '}']) {
            self.expand(interpreter, spec, depth - 1)?
        } else {
            spec.to_owned()
        };
        let safe = matches!(&value, Value::Str(text) if text.markup);
        let formatted = format_value(interpreter, &value, &spec)?;
        Ok(if self.markup && !safe { escape(&formatted) } else { formatted })
    }

    /// The value of a path such as `0.name[key]`.
    fn value(&mut self, interpreter: &mut Interpreter<'_>, path: &str) -> Outcome<Value> {
        let end = path.find(['.', '[']).unwrap_or(path.len());
        let (first, mut rest) = path.split_at(end);
        // Only a path that is nothing but a number, or nothing at all, takes part in the numbering.
        self.number(path)?;
        let mut value = self.argument(first, path.is_empty())?;
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix('.') {
                let end = after.find(['.', '[']).unwrap_or(after.len());
                if end == 0 {
                    return Err(value_error("Empty attribute in format string"));
                }
                value = attribute(interpreter, &value, &Arc::from(&after[..end]))?;
                rest = &after[end..];
            } else {
                let Some(end) = rest.find(']').filter(|_| rest.starts_with('[')) else {
                    return Err(value_error("Missing ']' in format string"));
                };
                let key = match rest[1..end].parse::<i64>() {
                    Ok(index) if rest[1..end].bytes().all(|b| b.is_ascii_digit()) => Value::Int(index),
                    _ => Value::text(&rest[1..end]),
                };
                value = item(interpreter, &value, &key)?;
                rest = &rest[end + 1..];
            }
        }
        Ok(value)
    }

    fn number(&mut self, path: &str) -> Outcome<()> {
        let automatic = path.is_empty();
        if !automatic && !path.bytes().all(|byte| byte.is_ascii_digit()) {
            return Ok(());
        }
        self.numbering = match (&self.numbering, automatic) {
            (Numbering::Unknown, true) => Numbering::Automatic(0),
            (Numbering::Automatic(last), true) => Numbering::Automatic(last + 1),
            (Numbering::Unknown | Numbering::Manual, false) => Numbering::Manual,
            (Numbering::Manual, true) => {
                return Err(value_error(
                    "cannot switch from manual field specification to automatic field numbering",
                ));
            }
            (Numbering::Automatic(_), false) => {
                return Err(value_error(
                    "cannot switch from automatic field numbering to manual field specification",
                ));
            }
        };
        Ok(())
    }

    fn argument(&self, name: &str, automatic: bool) -> Outcome<Value> {
        let number = match self.numbering {
            Numbering::Automatic(at) if automatic => Some(at),
            _ if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit()) => {
                Some(name.parse().unwrap_or(usize::MAX))
            }
            _ => None,
        };
        let found = match number {
            Some(at) => self.arguments.positional.get(at),
            None => self.arguments.named.iter().find(|(known, _)| **known == *name).map(|(_, value)| value),
        };
        found.cloned().ok_or_else(|| match number {
            Some(at) => TemplateError::Operation {
                exception: "IndexError",
                message: format!("Replacement index {at} out of range for positional args tuple"),
            },
            None => TemplateError::Operation { exception: "KeyError", message: format!("'{name}'") },
        })
    }
}

/// Where the field that starts a text ends.
fn field_end(text: &str) -> Outcome<usize> {
    let mut depth = 0_usize;
    for (at, character) in text.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => return Ok(at),
            '}' => depth -= 1,
            _ => {}
        }
    }
    Err(value_error("expected '}' before end of string"))
}
