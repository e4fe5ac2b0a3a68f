//! Filters for numbers.

use num_bigint::BigInt;

use super::argument_error;
use super::attribute::Getter;
use crate::error::{Outcome, overflow_error, type_error};
use crate::eval::Interpreter;
use crate::front::BinaryOperator;
use crate::text::is_space;
use crate::value::{Arguments, Integer, Value};

/// `abs`.
pub(super) fn abs(_: &mut Interpreter<'_>, value: Value, arguments: Arguments) -> Outcome<Value> {
    arguments.bind("abs", &[], 0)?;
    value.require_defined()?;
    if let Value::Float(value) = value {
        return Ok(Value::Float(value.abs()));
    }
    match Integer::of(&value) {
        Some(Integer::Small(value)) => Ok(Integer::from(i128::from(value).abs()).into()),
        Some(Integer::Big(value)) => Ok(Integer::from(BigInt::from(value.magnitude().clone())).into()),
        None => Err(type_error(format!("bad operand type for abs(): '{}'", value.type_name()))),
    }
}

/// `int`: the integer that a text or number means, or a default.
pub(super) fn int(_: &mut Interpreter<'_>, value: Value, arguments: Arguments) -> Outcome<Value> {
    let mut parameters = arguments.bind("int", &["default", "base"], 0)?;
    let default = parameters.take_or(0, Value::Int(0));
    let base = parameters.integer(1, 10)?;
    value.require_defined()?;
    let float = match &value {
        Value::Float(value) if value.is_infinite() => {
            return Err(overflow_error("cannot convert float infinity to integer"));
        }
        Value::Float(value) => Some(*value),
        Value::Str(text) => {
            if let Some(integer) = parse_integer(&text.text, base) {
                return Ok(integer.into());
            }
            parse_float(&text.text)
        }
        other => return Ok(Integer::of(other).map_or(default, Value::from)),
    };
    Ok(match float {
        Some(float) if float.is_finite() => crate::value::truncated(float).into(),
        _ => default,
    })
}

/// `float`: the float that a text or number means, or a default.
pub(super) fn float(_: &mut Interpreter<'_>, value: Value, arguments: Arguments) -> Outcome<Value> {
    let mut parameters = arguments.bind("float", &["default"], 0)?;
    let default = parameters.take_or(0, Value::Float(0.0));
    value.require_defined()?;
    let float = match &value {
        Value::Float(value) => Some(*value),
        Value::Str(text) => parse_float(&text.text),
        other => match Integer::of(other).map(|integer| integer.to_float()) {
            Some(float) if float.is_infinite() => {
                return Err(overflow_error("int too large to convert to float"));
            }
            float => float,
        },
    };
    Ok(float.map_or(default, Value::Float))
}

/// Python's `int(text, base)`.
fn parse_integer(text: &str, base: i64) -> Option<Integer> {
    let text = text.trim_matches(is_space);
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let base = u32::try_from(base).ok().filter(|base| *base == 0 || (2..=36).contains(base))?;
    let lower = digits.get(..2).unwrap_or("").to_ascii_lowercase();
    let prefixed = match lower.as_str() {
        "0x" => Some(16),
        "0o" => Some(8),
        "0b" => Some(2),
        _ => None,
    };
    let (radix, digits) = match prefixed {
        Some(radix) if base == 0 || base == radix => {
            (radix, digits[2..].strip_prefix('_').unwrap_or(&digits[2..]))
        }
        _ if base == 0 => (10, digits),
        _ => (base, digits),
    };
    let digits = plain_digits(digits)?;
    // Python refuses longer ones, and reading them takes quadratic time.
    if digits.len() > 4300 || !digits.chars().all(|digit| digit.is_digit(radix)) {
        return None;
    }
    if base == 0
        && prefixed.is_none()
        && digits.len() > 1
        && digits.starts_with('0')
        && !digits.trim_matches('0').is_empty()
    {
        return None;
    }
    let value = BigInt::parse_bytes(digits.as_bytes(), radix)?;
    Some(Integer::from(if negative { -value } else { value }))
}

/// Digits without the single underscores that may stand between them.
fn plain_digits(text: &str) -> Option<String> {
    if text.is_empty() || text.starts_with('_') || text.ends_with('_') || text.contains("__") {
        return None;
    }
    Some(text.chars().filter(|&c| c != '_').map(ascii_digit).collect())
}

/// A decimal digit of another script as an ASCII one.
fn ascii_digit(character: char) -> char {
    if character.is_ascii() || crate::text::digit_kind(character) != Some(crate::text::DigitKind::Decimal) {
        return character;
    }
    let code = u32::from(character);
    // The ten digits of a script follow each other, and few start at a multiple of 10: count down to the zero.
    let zero = (0..10).map(|back| code - back).rev().find(|&zero| {
        (zero..=code).all(|c| char::from_u32(c).is_some_and(|c| crate::text::digit_kind(c).is_some()))
    });
    zero.and_then(|zero| char::from_digit(code - zero, 10)).unwrap_or(character)
}

/// Python's `float(text)`.
fn parse_float(text: &str) -> Option<f64> {
    let text = text.trim_matches(is_space);
    let body = text.strip_prefix(['-', '+']).unwrap_or(text).to_ascii_lowercase();
    if !matches!(body.as_str(), "inf" | "infinity" | "nan")
        && body.contains(|c: char| c.is_ascii_alphabetic() && c != 'e')
    {
        return None;
    }
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        let digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
        if *byte == b'_' && !(digit(at.checked_sub(1)) && digit(Some(at + 1))) {
            return None;
        }
    }
    text.replace('_', "").parse().ok()
}

/// `round`.
pub(super) fn round(interpreter: &mut Interpreter<'_>, value: Value, arguments: Arguments) -> Outcome<Value> {
    let mut parameters = arguments.bind("round", &["precision", "method"], 0)?;
    let precision = parameters.integer(0, 0)?;
    let method = parameters.take_or(1, Value::text("common"));
    value.require_defined()?;
    match method.as_str() {
        Some("common") => round_half_even(&value, precision),
        Some(method @ ("ceil" | "floor")) => {
            let scale = interpreter.binary(BinaryOperator::Power, &Value::Int(10), &Value::Int(precision))?;
            let scaled = interpreter.binary(BinaryOperator::Multiply, &value, &scale)?;
            let rounded = match scaled {
                Value::Float(float) if !float.is_finite() => {
                    return Err(overflow_error("cannot convert float infinity to integer"));
                }
                Value::Float(float) => {
                    crate::value::truncated(if method == "ceil" { float.ceil() } else { float.floor() })
                        .into()
                }
                other if Integer::of(&other).is_some() => other,
                other => {
                    return Err(type_error(format!("must be real number, not {}", other.type_name())));
                }
            };
            interpreter.binary(BinaryOperator::Divide, &rounded, &scale)
        }
        _ => Err(argument_error("method must be common, ceil or floor")),
    }
}

fn round_half_even(value: &Value, precision: i64) -> Outcome<Value> {
    if let Value::Float(float) = value {
        if !float.is_finite() {
            return Ok(Value::Float(*float));
        }
        // A float has at most 1074 decimals, and is below 10 to the power of 309.
        let digits = precision.clamp(-310, 1075);
        if digits >= 0 {
            let decimals = usize::try_from(digits).unwrap_or(0);
            return Ok(Value::Float(format!("{float:.decimals$}").parse().unwrap_or(*float)));
        }
        let scale = 10_f64.powi(i32::try_from(-digits).unwrap_or(310));
        let rounded = (float / scale).round_ties_even() * scale;
        return Ok(Value::Float(if rounded.is_nan() { 0.0 } else { rounded }));
    }
    let Some(integer) = Integer::of(value) else {
        return Err(type_error(format!("type {} doesn't define __round__ method", value.type_name())));
    };
    if precision >= 0 {
        return Ok(integer.into());
    }
    let digits = u32::try_from(-precision).unwrap_or(u32::MAX);
    if u64::from(digits) > integer.bits() {
        return Ok(Value::Int(0));
    }
    let scale = BigInt::from(10).pow(digits);
    let (big, half) = (integer.to_big(), &scale / 2);
    let mut quotient = &big / &scale;
    let mut rest = &big - &quotient * &scale;
    if rest < BigInt::ZERO {
        rest += &scale;
        quotient -= 1;
    }
    let odd = &quotient % 2 != BigInt::ZERO;
    if rest > half || rest == half && odd {
        quotient += 1;
    }
    Ok(Integer::from(quotient * scale).into())
}

/// `sum`.
pub(super) fn sum(interpreter: &mut Interpreter<'_>, value: Value, arguments: Arguments) -> Outcome<Value> {
    let mut parameters = arguments.bind("sum", &["attribute", "start"], 0)?;
    let attribute = parameters.take(0);
    let getter = Getter::new(attribute.as_ref(), None, false);
    let mut total = parameters.take_or(1, Value::Int(0));
    if matches!(total, Value::Str(_)) {
        return Err(type_error("sum() can't sum strings [use ''.join(seq) instead]"));
    }
    for item in value.into_items(interpreter)? {
        let item = getter.get(interpreter, &item)?;
        total = interpreter.binary(BinaryOperator::Add, &total, &item)?;
    }
    Ok(total)
}

/// `filesizeformat`.
pub(super) fn filesizeformat(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    arguments: Arguments,
) -> Outcome<Value> {
    let mut parameters = arguments.bind("filesizeformat", &["binary"], 0)?;
    let binary = parameters.flag(0, false);
    let Value::Float(bytes) = float(interpreter, value, Arguments::positional(vec![Value::None]))? else {
        return Err(crate::error::value_error("could not convert to float"));
    };
    let base: f64 = if binary { 1024.0 } else { 1000.0 };
    let units = if binary {
        ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"]
    } else {
        ["kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"]
    };
    #[expect(clippy::float_cmp, reason = "jinja2 tells exactly one byte apart")]
    let one = bytes == 1.0;
    if one {
        return Ok(Value::text("1 Byte"));
    }
    if bytes < base {
        return Ok(Value::text(format!("{bytes:.0} Bytes")));
    }
    let mut unit = base;
    for name in units {
        unit *= base;
        if bytes < unit {
            return Ok(Value::text(format!("{:.1} {name}", base * bytes / unit)));
        }
    }
    Ok(Value::text(format!("{:.1} {}", base * bytes / unit, units[7])))
}
