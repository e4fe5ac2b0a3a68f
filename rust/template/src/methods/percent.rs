//! The `%` operator of texts.

use super::format_spec::{Spec, format_float, format_integer, pad};
use crate::error::{Outcome, TemplateError, overflow_error, type_error, value_error};
use crate::eval::Interpreter;
use crate::text::{byte_offset, escape, length};
use crate::value::{Arguments, Integer, Text, Value, truncated};

/// Formats a text.
///
/// # Arguments
/// * `single`: whether the right operand was one value rather than a tuple; it then may be a dict of named values.
///
/// # Errors
/// What Python raises for too few or too many values, a malformed format, or a value of the wrong type.
pub(crate) fn percent_format(
    interpreter: &mut Interpreter<'_>,
    format: &Text,
    arguments: Arguments,
    single: bool,
) -> Outcome<Value> {
    let mapping = match arguments.positional.first() {
        Some(value) if single && matches!(value, Value::Dict(_) | Value::List(_)) => Some(value.clone()),
        _ => None,
    };
    let mut values = arguments.positional.into_iter();
    let mut named = false;
    let mut out = String::with_capacity(format.text.len());
    let mut rest = &*format.text;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let mut key = None;
        if let Some(after) = rest.strip_prefix('(') {
            let end = closing(after).ok_or_else(|| value_error("incomplete format key"))?;
            key = Some(&after[..end]);
            rest = &after[end + 1..];
        }
        let mut next = || values.next().ok_or_else(|| type_error("not enough arguments for format string"));
        let (spec, after) = parse(rest, &mut next)?;
        rest = after;
        let kind = spec.kind.unwrap_or('%');
        if kind == '%' {
            out.push('%');
            continue;
        }
        let value = match key {
            None => next()?,
            Some(key) => {
                named = true;
                let Some(Value::Dict(dict)) = &mapping else {
                    return Err(type_error("format requires a mapping"));
                };
                dict.get_str(key).cloned().ok_or_else(|| TemplateError::Operation {
                    exception: "KeyError",
                    message: format!("'{key}'"),
                })?
            }
        };
        interpreter.meter.allocate(out.len().saturating_add(spec.width.saturating_mul(4)))?;
        interpreter.meter.allocate(spec.precision.unwrap_or(0))?;
        out.push_str(&convert(interpreter, &spec, kind, &value, format.markup)?);
    }
    out.push_str(rest);
    interpreter.meter.allocate(out.len())?;
    if !named && mapping.is_none() && values.next().is_some() {
        return Err(type_error("not all arguments converted during string formatting"));
    }
    Ok(Value::text_like(format, out))
}

/// Where the parenthesis that is open at the start closes.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' if depth == 0 => return Some(at),
            ')' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Parses flags, width, precision and type, and gives what follows.
fn parse<'t>(text: &'t str, next: &mut dyn FnMut() -> Outcome<Value>) -> Outcome<(Spec, &'t str)> {
    let mut spec = Spec::default();
    let mut rest = text;
    while let Some(flag) = rest.chars().next().filter(|c| matches!(c, '-' | '+' | ' ' | '#' | '0')) {
        match flag {
            '-' => spec.align = Some('<'),
            '+' => spec.sign = Some('+'),
            ' ' if spec.sign.is_none() => spec.sign = Some(' '),
            '#' => spec.alternate = true,
            '0' => spec.zero = true,
            _ => {}
        }
        rest = &rest[1..];
    }
    let mut number = |rest: &mut &'t str| -> Outcome<Option<i64>> {
        if let Some(after) = rest.strip_prefix('*') {
            *rest = after;
            let width = next()?;
            return width.as_index().map(Some).ok_or_else(|| type_error("* wants int"));
        }
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (digits, after) = rest.split_at(end);
        *rest = after;
        if digits.is_empty() {
            return Ok(None);
        }
        digits.parse().map(Some).map_err(|_| value_error("width too big"))
    };
    if let Some(width) = number(&mut rest)? {
        if width < 0 {
            spec.align = Some('<');
        }
        spec.width = usize::try_from(width.unsigned_abs()).unwrap_or(usize::MAX);
    }
    if let Some(after) = rest.strip_prefix('.') {
        rest = after;
        spec.precision = Some(usize::try_from(number(&mut rest)?.unwrap_or(0)).unwrap_or(0));
    }
    rest = rest.trim_start_matches(['h', 'l', 'L']);
    let kind = rest.chars().next().ok_or_else(|| value_error("incomplete format"))?;
    spec.kind = Some(kind);
    Ok((spec, &rest[kind.len_utf8()..]))
}

fn convert(
    interpreter: &mut Interpreter<'_>,
    spec: &Spec,
    kind: char,
    value: &Value,
    markup: bool,
) -> Outcome<String> {
    // Python pads texts with spaces even where zeros are asked for.
    let unfilled = Spec { zero: false, ..spec.clone() };
    match kind {
        's' | 'r' | 'a' => {
            let mut text = String::new();
            let safe = matches!(value, Value::Str(text) if text.markup);
            if kind == 's' {
                value.write_str(interpreter, &mut text)?;
            } else {
                value.write_repr(interpreter, &mut text)?;
            }
            if markup && !(safe && kind == 's') {
                text = escape(&text);
            }
            let cut =
                spec.precision.map_or(text.as_str(), |precision| &text[..byte_offset(&text, precision)]);
            Ok(pad(&unfilled, "", cut, '>'))
        }
        'c' => match value {
            Value::Str(text) if length(&text.text) == 1 => Ok(pad(&unfilled, "", &text.text, '>')),
            other => {
                let code =
                    other.as_index().and_then(|code| u32::try_from(code).ok()).and_then(char::from_u32);
                let character = code.ok_or_else(|| type_error("%c requires int or char"))?;
                Ok(pad(&unfilled, "", &character.to_string(), '>'))
            }
        },
        'd' | 'i' | 'u' | 'o' | 'x' | 'X' => {
            let integer = match value {
                Value::Float(float) if matches!(kind, 'd' | 'i' | 'u') => {
                    if !float.is_finite() {
                        return Err(overflow_error("cannot convert float infinity to integer"));
                    }
                    Some(truncated(*float))
                }
                other => Integer::of(other),
            };
            let Some(integer) = integer else {
                value.require_defined()?;
                return Err(type_error(format!(
                    "%{kind} format: a real number is required, not {}",
                    value.type_name()
                )));
            };
            let kind = if matches!(kind, 'i' | 'u') { 'd' } else { kind };
            convert_integer(&integer, &Spec { kind: Some(kind), ..spec.clone() }, value)
        }
        'e' | 'E' | 'f' | 'F' | 'g' | 'G' => {
            let float = match value {
                Value::Float(float) => Some(*float),
                other => Integer::of(other).map(|integer| integer.to_float()),
            };
            let Some(float) = float else {
                value.require_defined()?;
                return Err(type_error(format!("must be real number, not {}", value.type_name())));
            };
            format_float(float, &Spec { zero: spec.zero && spec.align.is_none(), ..spec.clone() }, value)
        }
        other => Err(value_error(format!("unsupported format character '{other}'"))),
    }
}

fn convert_integer(integer: &Integer, spec: &Spec, value: &Value) -> Outcome<String> {
    let zero = spec.zero && spec.align.is_none();
    let digits = Spec { precision: None, zero, ..spec.clone() };
    let Some(precision) = spec.precision else {
        return format_integer(integer, &digits, value);
    };
    // A precision is the least number of digits.
    let bare = Spec { width: 0, sign: None, alternate: false, ..digits.clone() };
    let text = format_integer(integer, &bare, value)?;
    let (negative, body) = text.strip_prefix('-').map_or((false, &*text), |body| (true, body));
    let sign = match spec.sign {
        _ if negative => "-",
        Some('+') => "+",
        Some(_) => " ",
        None => "",
    };
    let body = format!("{}{body}", "0".repeat(precision.saturating_sub(body.len())));
    Ok(pad(&digits, sign, &body, if zero { '=' } else { '>' }))
}
