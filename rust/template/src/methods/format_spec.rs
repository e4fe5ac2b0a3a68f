//! Python's format specifications, as in `"{:>10.2f}"`.

use crate::error::{Outcome, TemplateError, overflow_error, type_error, value_error};
use crate::eval::Interpreter;
use crate::text::{fixed, float_text, general, length, scientific};
use crate::value::{Integer, Value};

/// A parsed specification.
#[derive(Debug, Clone, Default)]
pub(super) struct Spec {
    pub fill: Option<char>,
    pub align: Option<char>,
    pub sign: Option<char>,
    /// The flag `z`: a zero loses its sign.
    pub no_negative_zero: bool,
    pub alternate: bool,
    pub zero: bool,
    pub width: usize,
    pub grouping: Option<char>,
    pub precision: Option<usize>,
    pub kind: Option<char>,
}

impl Spec {
    /// Parses `[[fill]align][sign][#][0][width][grouping][.precision][type]`.
    pub fn parse(text: &str) -> Outcome<Self> {
        let mut spec = Self::default();
        let mut rest: &[char] = &text.chars().collect::<Vec<_>>();
        let is_align = |c: Option<&char>| matches!(c, Some('<' | '>' | '=' | '^'));
        if is_align(rest.get(1)) {
            (spec.fill, spec.align) = (Some(rest[0]), Some(rest[1]));
            rest = &rest[2..];
        } else if is_align(rest.first()) {
            spec.align = Some(rest[0]);
            rest = &rest[1..];
        }
        if let Some(&sign @ ('+' | '-' | ' ')) = rest.first() {
            spec.sign = Some(sign);
            rest = &rest[1..];
        }
        if rest.first() == Some(&'z') {
            spec.no_negative_zero = true;
            rest = &rest[1..];
        }
        if rest.first() == Some(&'#') {
            spec.alternate = true;
            rest = &rest[1..];
        }
        if rest.first() == Some(&'0') {
            spec.zero = true;
            rest = &rest[1..];
        }
        (spec.width, rest) = take_number(rest)?.unwrap_or((0, rest));
        if let Some(&grouping @ (',' | '_')) = rest.first() {
            spec.grouping = Some(grouping);
            rest = &rest[1..];
        }
        if rest.first() == Some(&'.') {
            let Some((precision, after)) = take_number(&rest[1..])? else {
                return Err(value_error("Format specifier missing precision"));
            };
            spec.precision = Some(precision);
            rest = after;
        }
        match rest {
            [] => {}
            [kind] => spec.kind = Some(*kind),
            _ => return Err(value_error("Invalid format specifier")),
        }
        Ok(spec)
    }
}

fn take_number(text: &[char]) -> Outcome<Option<(usize, &[char])>> {
    let end = text.iter().position(|c| !c.is_ascii_digit()).unwrap_or(text.len());
    if end == 0 {
        return Ok(None);
    }
    let digits: String = text[..end].iter().collect();
    match digits.parse::<usize>() {
        Ok(number) if i64::try_from(number).is_ok() => Ok(Some((number, &text[end..]))),
        _ => Err(value_error("Too many decimal digits in format string")),
    }
}

/// Python's `format(value, spec)`.
pub(super) fn format_value(interpreter: &mut Interpreter<'_>, value: &Value, spec: &str) -> Outcome<String> {
    if spec.is_empty() {
        return Ok(value.to_text(interpreter)?.text.to_string());
    }
    let unsupported =
        || type_error(format!("unsupported format string passed to {}.__format__", value.type_name()));
    let parsed = Spec::parse(spec)?;
    interpreter.meter.allocate(parsed.width.saturating_mul(4))?;
    interpreter.meter.allocate(parsed.precision.unwrap_or(0))?;
    match value {
        Value::Str(text) => format_text(&text.text, &parsed),
        Value::Float(float) => format_float(*float, &parsed, value),
        _ => match Integer::of(value) {
            Some(integer) => format_integer(&integer, &parsed, value),
            None => Err(unsupported()),
        },
    }
}

fn unknown_kind(kind: char, value: &Value) -> TemplateError {
    value_error(format!("Unknown format code '{kind}' for object of type '{}'", value.type_name()))
}

fn format_text(text: &str, spec: &Spec) -> Outcome<String> {
    if !matches!(spec.kind, None | Some('s')) {
        return Err(value_error(format!(
            "Unknown format code '{}' for object of type 'str'",
            spec.kind.unwrap_or('s')
        )));
    }
    if spec.no_negative_zero
        || spec.sign.is_some()
        || spec.align == Some('=')
        || spec.grouping.is_some()
        || spec.alternate
    {
        return Err(value_error("not allowed in string format specifier"));
    }
    let cut = match spec.precision {
        Some(precision) => &text[..crate::text::byte_offset(text, precision)],
        None => text,
    };
    Ok(pad(spec, "", cut, '<'))
}

/// Puts a sign and body into the width. The fill goes between them for the alignment `=`.
pub(super) fn pad(spec: &Spec, sign: &str, body: &str, default_align: char) -> String {
    let fill = spec.fill.unwrap_or(if spec.zero { '0' } else { ' ' });
    let align = spec.align.unwrap_or(default_align);
    let missing = spec.width.saturating_sub(length(sign) + length(body));
    let filled = |count: usize| fill.to_string().repeat(count);
    match align {
        '<' => format!("{sign}{body}{}", filled(missing)),
        '^' => format!("{}{sign}{body}{}", filled(missing / 2), filled(missing - missing / 2)),
        '=' => format!("{sign}{}{body}", filled(missing)),
        _ => format!("{}{sign}{body}", filled(missing)),
    }
}

fn sign_text(negative: bool, spec: &Spec) -> &'static str {
    match spec.sign {
        _ if negative => "-",
        Some('+') => "+",
        Some(' ') => " ",
        _ => "",
    }
}

/// Digits with a separator between groups, filled up with zeros to the width where that is asked for.
fn grouped(digits: &str, rest: &str, sign: &str, spec: &Spec, group: usize) -> String {
    let Some(separator) = spec.grouping else {
        return digits.to_owned();
    };
    let mut digits = digits.to_owned();
    let zeros = spec.zero && spec.align.is_none() || spec.fill == Some('0') && spec.align == Some('=');
    if zeros {
        let room = spec.width.saturating_sub(sign.len() + rest.len());
        while digits.len() + digits.len().saturating_sub(1) / group < room {
            digits.insert(0, '0');
            if digits.len() + (digits.len() - 1) / group > room {
                break;
            }
        }
    }
    let first = (digits.len() - 1) % group + 1;
    let mut out = digits[..first].to_owned();
    for at in (first..digits.len()).step_by(group) {
        out.push(separator);
        out.push_str(&digits[at..at + group]);
    }
    out
}

pub(super) fn format_integer(integer: &Integer, spec: &Spec, value: &Value) -> Outcome<String> {
    let kind = spec.kind.unwrap_or('d');
    if matches!(kind, 'e' | 'E' | 'f' | 'F' | 'g' | 'G' | '%') {
        let float = integer.to_float();
        if !float.is_finite() {
            return Err(overflow_error("int too large to convert to float"));
        }
        return format_float(float, spec, value);
    }
    if spec.no_negative_zero {
        return Err(value_error("Negative zero coercion (z) not allowed in integer format specifier"));
    }
    if spec.precision.is_some() {
        return Err(value_error("Precision not allowed in integer format specifier"));
    }
    let big = integer.to_big();
    let negative = big.sign() == num_bigint::Sign::Minus;
    let magnitude = big.magnitude();
    let (prefix, digits, group) = match kind {
        'd' | 'n' => ("", crate::value::big_text(&magnitude.clone().into())?, 3),
        'b' => ("0b", magnitude.to_str_radix(2), 4),
        'o' => ("0o", magnitude.to_str_radix(8), 4),
        'x' => ("0x", magnitude.to_str_radix(16), 4),
        'X' => ("0X", magnitude.to_str_radix(16).to_uppercase(), 4),
        'c' => {
            let code = u32::try_from(&big).ok().and_then(char::from_u32);
            let character = code.ok_or_else(|| overflow_error("%c arg not in range(0x110000)"))?;
            return Ok(pad(spec, "", &character.to_string(), '<'));
        }
        _ => return Err(unknown_kind(kind, value)),
    };
    if spec.grouping == Some(',') && kind != 'd' {
        return Err(value_error(format!("Cannot specify ',' with '{kind}'.")));
    }
    let prefix = if spec.alternate { prefix } else { "" };
    let sign = format!("{}{prefix}", sign_text(negative, spec));
    let body = grouped(&digits, "", &sign, spec, group);
    Ok(pad(spec, &sign, &body, if spec.zero { '=' } else { '>' }))
}

pub(super) fn format_float(float: f64, spec: &Spec, value: &Value) -> Outcome<String> {
    let kind = spec.kind.unwrap_or('\0');
    let precision = spec.precision.unwrap_or(6);
    let finite = float.is_finite();
    let body = match kind {
        _ if !finite && matches!(kind, 'F' | 'E' | 'G') => {
            if float.is_nan() { "NAN" } else { "INF" }.to_owned()
        }
        _ if !finite => {
            if float.is_nan() { "nan" } else { "inf" }.to_owned() + if kind == '%' { "%" } else { "" }
        }
        'f' | 'F' => fixed(float, precision),
        'e' => scientific(float, precision),
        'E' => scientific(float, precision).to_uppercase(),
        'g' | 'n' => general(float, precision, spec.alternate),
        'G' => general(float, precision, spec.alternate).to_uppercase(),
        '%' => fixed(float * 100.0, precision) + "%",
        '\0' => match spec.precision {
            None => float_text(float.abs()),
            Some(precision) => with_decimal(&general_or_exponent(float, precision)),
        },
        _ => return Err(unknown_kind(kind, value)),
    };
    let zero = spec.no_negative_zero && !body.contains(|c: char| ('1'..='9').contains(&c));
    let sign = sign_text(float.is_sign_negative() && !float.is_nan() && !zero, spec);
    let end = body.find(|c: char| !c.is_ascii_digit()).unwrap_or(body.len());
    let body = if finite && end > 0 {
        format!("{}{}", grouped(&body[..end], &body[end..], sign, spec, 3), &body[end..])
    } else {
        body
    };
    Ok(pad(spec, sign, &body, if spec.zero { '=' } else { '>' }))
}

/// Without a type, the exponent is used one digit earlier than with `g`.
fn general_or_exponent(float: f64, precision: usize) -> String {
    let precision = precision.max(1);
    let text = scientific(float, precision - 1);
    let exponent: i64 = text.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    if exponent >= i64::try_from(precision).unwrap_or(i64::MAX) - 1 && exponent >= 1 {
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "+00"));
        let mantissa = if mantissa.contains('.') {
            mantissa.trim_end_matches('0').trim_end_matches('.')
        } else {
            mantissa
        };
        return format!("{mantissa}e{exponent}");
    }
    general(float, precision, false)
}

fn with_decimal(text: &str) -> String {
    if text.contains(['.', 'e']) { text.to_owned() } else { format!("{text}.0") }
}
