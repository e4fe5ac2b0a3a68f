//! Bytes that arrive piece by piece, to text: the rules of Python's `bytes.decode("utf-8", "replace")`.

/// How many U+FFFD stand for bytes that are no character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replacement {
    /// One for each longest start of a character, as Python and the byte-level decoder of `tokenizers` do.
    PerSequence,
    /// One for each byte, as the byte-fallback decoder of `tokenizers` does.
    PerByte,
}

/// Appends to `text` all characters that `pending` and `bytes` decide; what may still become one stays in `pending`.
pub fn push(pending: &mut Vec<u8>, bytes: &[u8], replacement: Replacement, text: &mut String) {
    if pending.is_empty() {
        let rest = decode(bytes, replacement, text);
        pending.extend_from_slice(rest);
        return;
    }
    pending.extend_from_slice(bytes);
    let joined = std::mem::take(pending);
    let rest = decode(&joined, replacement, text);
    pending.extend_from_slice(rest);
}

/// Appends U+FFFD for what is pending.
pub fn flush(pending: &mut Vec<u8>, replacement: Replacement, text: &mut String) {
    replace(pending.len(), replacement, text);
    pending.clear();
}

/// The start of a character at the end of `bytes`, at most 3 bytes.
pub fn incomplete_suffix(bytes: &[u8]) -> &[u8] {
    decode(bytes, Replacement::PerSequence, &mut String::new())
}

/// Decodes `bytes` and returns the start of a character at their end.
fn decode<'b>(mut bytes: &'b [u8], replacement: Replacement, text: &mut String) -> &'b [u8] {
    loop {
        match std::str::from_utf8(bytes) {
            Ok(valid) => {
                text.push_str(valid);
                return &[];
            }
            Err(error) => {
                let (valid, rest) = bytes.split_at(error.valid_up_to());
                text.push_str(&String::from_utf8_lossy(valid));
                let Some(bad) = error.error_len() else { return rest };
                replace(bad, replacement, text);
                bytes = &rest[bad..];
            }
        }
    }
}

fn replace(bytes: usize, replacement: Replacement, text: &mut String) {
    let count = match replacement {
        Replacement::PerSequence => usize::from(bytes > 0),
        Replacement::PerByte => bytes,
    };
    text.extend(std::iter::repeat_n('\u{fffd}', count));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected: CPython 3.11, `bytes.decode("utf-8", "replace")`.
    #[test]
    fn invalid_bytes_are_replaced_as_python_replaces_them_however_they_are_cut() {
        let cases: [(&[u8], &str); 6] = [
            (b"a\xf0\x9f\x8c\xb6b", "a\u{1f336}b"),
            (b"\xf0\x9f\x8cb", "\u{fffd}b"),
            (b"\xf0\x9f", "\u{fffd}"),
            (b"\x80\x80\x80", "\u{fffd}\u{fffd}\u{fffd}"),
            (b"\xe0\x80\x80", "\u{fffd}\u{fffd}\u{fffd}"),
            (b"\xed\xa0\x80x", "\u{fffd}\u{fffd}\u{fffd}x"),
        ];
        for (bytes, expected) in cases {
            for cut in 0..=bytes.len() {
                let (mut pending, mut text) = (Vec::new(), String::new());
                push(&mut pending, &bytes[..cut], Replacement::PerSequence, &mut text);
                push(&mut pending, &bytes[cut..], Replacement::PerSequence, &mut text);
                flush(&mut pending, Replacement::PerSequence, &mut text);
                assert_eq!(text, expected, "{bytes:?} cut at {cut}");
            }
        }
    }
}
