//! Number literals.

use num_bigint::BigInt;

/// Length of `(\d+_)*\d+` at the start.
fn digits(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut end = 0;
    while end < bytes.len() {
        let next = bytes.get(end + 1).is_some_and(u8::is_ascii_digit);
        match bytes[end] {
            b'0'..=b'9' => end += 1,
            b'_' if end > 0 && next => end += 1,
            _ => break,
        }
    }
    end
}

/// A float literal at the start, and its length.
pub(super) fn float(text: &str) -> Option<(f64, usize)> {
    let mut end = digits(text);
    let mut is_float = false;
    if text[end..].starts_with('.') {
        let fraction = digits(&text[end + 1..]);
        if fraction > 0 {
            end += 1 + fraction;
            is_float = true;
        }
    }
    if text[end..].starts_with(['e', 'E']) {
        let sign = usize::from(text[end + 1..].starts_with(['+', '-']));
        let exponent = digits(&text[end + 1 + sign..]);
        if exponent > 0 {
            end += 1 + sign + exponent;
            is_float = true;
        }
    }
    if !is_float {
        return None;
    }
    text[..end].replace('_', "").parse().ok().map(|value| (value, end))
}

/// An integer literal at the start, which must be a digit, and its length.
pub(super) fn integer(text: &str) -> (BigInt, usize) {
    let bytes = text.as_bytes();
    let radix = match bytes.get(1).map(u8::to_ascii_lowercase) {
        Some(b'b') if bytes[0] == b'0' => 2,
        Some(b'o') if bytes[0] == b'0' => 8,
        Some(b'x') if bytes[0] == b'0' => 16,
        _ => 10,
    };
    let is_digit = |at: usize| bytes.get(at).is_some_and(|byte| char::from(*byte).is_digit(radix));
    if radix != 10 {
        let mut end = 2;
        while is_digit(end) || bytes.get(end) == Some(&b'_') && is_digit(end + 1) {
            end += 1;
        }
        let body = text[2..end].replace('_', "");
        if let Some(value) = BigInt::parse_bytes(body.as_bytes(), radix) {
            return (value, end);
        }
    }
    // A number with leading zeros is only one if it is all zeros.
    let zero = bytes[0] == b'0';
    let mut end = 1;
    while end < bytes.len()
        && (is_digit(end) || bytes[end] == b'_' && is_digit(end + 1))
        && (!zero || bytes[end] == b'0' || bytes[end] == b'_' && bytes.get(end + 1) == Some(&b'0'))
    {
        end += 1;
    }
    let body = text[..end].replace('_', "");
    (BigInt::parse_bytes(body.as_bytes(), 10).unwrap_or_default(), end)
}
