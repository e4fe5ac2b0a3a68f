//! Floats as Python prints them.

/// `repr(float)`: the shortest text that reads back as the same float.
pub(crate) fn float_text(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    if value == 0.0 {
        return if value.is_sign_negative() { "-0.0" } else { "0.0" }.to_owned();
    }
    let (sign, digits, exponent) = shortest_digits(value);
    // Python's limits for leaving out the exponent.
    if (-4..16).contains(&exponent) {
        let plain = place_point(&digits, exponent);
        return if plain.contains('.') { format!("{sign}{plain}") } else { format!("{sign}{plain}.0") };
    }
    let (first, rest) = digits.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    format!("{sign}{first}{point}{rest}e{}", exponent_text(exponent))
}

/// Sign, shortest digits, and the decimal exponent of the first digit of a finite float other than 0.
fn shortest_digits(value: f64) -> (&'static str, String, i32) {
    let sign = if value < 0.0 { "-" } else { "" };
    // Rust's `e` format also gives the shortest digits.
    let text = format!("{:e}", value.abs());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    (sign, mantissa.replace('.', ""), exponent.parse().unwrap_or(0))
}

/// Digits with the point put where the exponent of the first digit says.
fn place_point(digits: &str, exponent: i32) -> String {
    if exponent < 0 {
        let zeros = usize::try_from(-exponent - 1).unwrap_or(0);
        return format!("0.{}{digits}", "0".repeat(zeros));
    }
    let whole = usize::try_from(exponent).unwrap_or(0) + 1;
    if digits.len() <= whole {
        format!("{digits}{}", "0".repeat(whole - digits.len()))
    } else {
        format!("{}.{}", &digits[..whole], &digits[whole..])
    }
}

/// An exponent with its sign and at least two digits.
fn exponent_text(exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{sign}{:02}", exponent.unsigned_abs())
}

/// `format(value, '.{precision}f')` of a finite float's magnitude.
pub(crate) fn fixed(value: f64, precision: usize) -> String {
    format!("{:.precision$}", value.abs())
}

/// `format(value, '.{precision}e')` of a finite float's magnitude.
pub(crate) fn scientific(value: f64, precision: usize) -> String {
    let text = format!("{:.precision$e}", value.abs());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    format!("{mantissa}e{}", exponent_text(exponent.parse().unwrap_or(0)))
}

/// `format(value, '.{precision}g')` of a finite float's magnitude; `keep_zeros` is the `#` flag.
pub(crate) fn general(value: f64, precision: usize, keep_zeros: bool) -> String {
    let precision = precision.max(1);
    let text = scientific(value, precision - 1);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "+00"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let limit = i32::try_from(precision).unwrap_or(i32::MAX);
    let trim = |text: &str| {
        if keep_zeros || !text.contains('.') {
            text.to_owned()
        } else {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
    };
    if (-4..limit).contains(&exponent) {
        let decimals = usize::try_from(limit - 1 - exponent).unwrap_or(0);
        trim(&fixed(value, decimals))
    } else {
        format!("{}e{}", trim(mantissa), exponent_text(exponent))
    }
}
