//! Bytes that arrive piece by piece, to text.

/// Bytes of a run of byte tokens that are held while the run is no text.
pub const MAX_RUN: usize = 16;

/// Appends to `text` all characters that `pending` and `bytes` decide; what may still become one stays in `pending`.
/// Bytes that are no character become U+FFFD by the rules of Python's `bytes.decode("utf-8", "replace")`.
pub fn push(pending: &mut Vec<u8>, bytes: &[u8], text: &mut String) {
    if pending.is_empty() {
        let rest = decode(bytes, false, text);
        pending.extend_from_slice(rest);
        return;
    }
    pending.extend_from_slice(bytes);
    let joined = std::mem::take(pending);
    let rest = decode(&joined, false, text);
    pending.extend_from_slice(rest);
}

/// As [`push`], by the rules of the byte-fallback decoder of `tokenizers`: a run of byte tokens is text as a whole, or
/// one U+FFFD for each of its bytes. A run is settled when it becomes text, when it ends, or when it grows long.
pub fn push_run(pending: &mut Vec<u8>, bytes: &[u8], text: &mut String) {
    pending.extend_from_slice(bytes);
    if let Ok(valid) = std::str::from_utf8(pending) {
        text.push_str(valid);
        pending.clear();
    } else if pending.len() > MAX_RUN {
        let joined = std::mem::take(pending);
        let rest = decode(&joined, true, text);
        pending.extend_from_slice(rest);
    }
}

/// Appends one U+FFFD for what is pending after [`push`].
pub fn flush(pending: &mut Vec<u8>, text: &mut String) {
    replace(usize::from(!pending.is_empty()), text);
    pending.clear();
}

/// Appends U+FFFD for each byte that is pending after [`push_run`].
pub fn flush_run(pending: &mut Vec<u8>, text: &mut String) {
    replace(pending.len(), text);
    pending.clear();
}

/// Whether more bytes could make these a character.
pub fn is_start(bytes: &[u8]) -> bool {
    matches!(std::str::from_utf8(bytes), Err(error) if error.valid_up_to() == 0 && error.error_len().is_none())
}

/// The start of a character at the end of `bytes`, at most 3 bytes.
pub fn incomplete_suffix(bytes: &[u8]) -> &[u8] {
    decode(bytes, false, &mut String::new())
}

/// Decodes `bytes` and returns the start of a character at their end.
fn decode<'b>(mut bytes: &'b [u8], each_byte: bool, text: &mut String) -> &'b [u8] {
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
                replace(if each_byte { bad } else { 1 }, text);
                bytes = &rest[bad..];
            }
        }
    }
}

fn replace(count: usize, text: &mut String) {
    text.extend(std::iter::repeat_n('\u{fffd}', count));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected: `bytes.decode("utf-8", "replace")` of CPython 3.11.
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
                push(&mut pending, &bytes[..cut], &mut text);
                push(&mut pending, &bytes[cut..], &mut text);
                flush(&mut pending, &mut text);
                assert_eq!(text, expected, "{bytes:?} cut at {cut}");
            }
        }
    }

    /// Expected: `none__none__gemma3/bytes_twisted` of the shared data, and ten thousand lone bytes in bounded memory.
    #[test]
    fn a_run_of_byte_tokens_is_text_or_one_replacement_for_each_byte() {
        let (mut pending, mut text) = (Vec::new(), String::new());
        for byte in [0xf0, 0x9f, 0xf0, 0x9f, 0x8c, 0xb6, 0x8c, 0xb6] {
            push_run(&mut pending, &[byte], &mut text);
        }
        flush_run(&mut pending, &mut text);
        assert_eq!(text, "\u{fffd}".repeat(8));
        for _ in 0..10_000 {
            push_run(&mut pending, &[0x80], &mut text);
            assert!(pending.len() <= MAX_RUN);
        }
    }
}
