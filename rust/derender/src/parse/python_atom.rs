//! Names and numbers of Python as JSON.

/// A word as JSON text. None: it is no literal, but a name or an expression.
#[must_use]
pub fn scalar(word: &str) -> Option<String> {
    match word {
        "True" | "true" => return Some("true".to_owned()),
        "False" | "false" => return Some("false".to_owned()),
        "None" | "null" => return Some("null".to_owned()),
        _ => {}
    }
    let (sign, digits) = match word.as_bytes().first()? {
        b'-' => ("-", &word[1..]),
        b'+' => ("", &word[1..]),
        _ => ("", word),
    };
    let number = based(digits).or_else(|| decimal(digits))?;
    Some(format!("{sign}{number}"))
}

/// A number with a base: `0x10`.
fn based(digits: &str) -> Option<String> {
    let (radix, digits) = match digits.get(..2)? {
        "0x" | "0X" => (16, &digits[2..]),
        "0o" | "0O" => (8, &digits[2..]),
        "0b" | "0B" => (2, &digits[2..]),
        _ => return None,
    };
    u128::from_str_radix(&digits.replace('_', ""), radix).ok().map(|value| value.to_string())
}

/// A decimal number: `7`, `1_000`, `.5`, `1.`, `1e-07`. Its digits stay as they are, however many.
fn decimal(digits: &str) -> Option<String> {
    let (mantissa, exponent) = match digits.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (digits, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    if whole.is_empty() && fraction.is_none_or(str::is_empty) {
        return None;
    }
    let plain = |part: &str| {
        let digits = part.replace('_', "");
        (digits.bytes().all(|byte| byte.is_ascii_digit())).then_some(digits)
    };
    let whole = plain(whole)?;
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        digits => digits,
    };
    let mut number = whole.to_owned();
    if let Some(fraction) = fraction {
        let fraction = plain(fraction)?;
        number.push('.');
        number.push_str(if fraction.is_empty() { "0" } else { &fraction });
    }
    if let Some(exponent) = exponent {
        let (sign, digits) = match exponent.as_bytes().first()? {
            b'-' => ("-", &exponent[1..]),
            b'+' => ("+", &exponent[1..]),
            _ => ("", exponent),
        };
        let digits = plain(digits)?;
        if digits.is_empty() {
            return None;
        }
        number.push('e');
        number.push_str(sign);
        number.push_str(&digits);
    }
    Some(number)
}
