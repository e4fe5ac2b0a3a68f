//! Texts of an answer, written into JSON run by run: most of an answer's bytes need no escape.

use std::io;

use serde::{Serialize, Serializer};
use serde_json::ser::Formatter;

/// A text that [`crate::json::to_bytes`] writes as a JSON string, and nothing else does.
#[derive(Debug, Default)]
pub struct Text(pub String);

impl Text {
    /// Whether there is no text.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // How bytes are written is the formatter's affair, as that of strings is not.
        serializer.serialize_bytes(self.0.as_bytes())
    }
}

/// Writes compact JSON, and bytes as the text that they are.
pub struct Texts;

impl Formatter for Texts {
    fn write_byte_array<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: &[u8]) -> io::Result<()> {
        let text = std::str::from_utf8(value).map_err(io::Error::other)?;
        writer.write_all(b"\"")?;
        escape(text, |run| writer.write_all(run.as_bytes()))?;
        writer.write_all(b"\"")
    }
}

/// Hands a text to `out` piece by piece as it stands between the quotes of a JSON string.
///
/// # Errors
/// Those of `out`.
pub fn escape<E>(text: &str, mut out: impl FnMut(&str) -> Result<(), E>) -> Result<(), E> {
    let mut rest = text;
    loop {
        let (run, more) = rest.split_at(plain(rest.as_bytes()));
        out(run)?;
        let Some(byte) = more.bytes().next() else { return Ok(()) };
        match byte {
            b'"' => out("\\\"")?,
            b'\\' => out("\\\\")?,
            b'\n' => out("\\n")?,
            b'\r' => out("\\r")?,
            b'\t' => out("\\t")?,
            0x08 => out("\\b")?,
            0x0c => out("\\f")?,
            _ => out(&format!("\\u{byte:04x}"))?,
        }
        rest = &more[1..];
    }
}

/// How many bytes stand before the first that means something inside a JSON string: a quote, a backslash or a control
/// character. It looks at whole blocks first, which the compiler does in a few instructions each, then at words.
#[must_use]
pub fn plain(bytes: &[u8]) -> usize {
    const BLOCK: usize = 16;
    let counts = |byte: u8| byte < 0x20 || byte == b'"' || byte == b'\\';
    let is_plain = |block: &&[u8]| !block.iter().fold(false, |any, &byte| any | counts(byte));
    let mut at = bytes.chunks_exact(BLOCK).take_while(is_plain).count() * BLOCK;
    while let Some(word) = bytes[at..].first_chunk() {
        match meaning(u64::from_le_bytes(*word)) {
            0 => at += 8,
            marks => return at + (marks.trailing_zeros() / 8) as usize,
        }
    }
    let rest = &bytes[at..];
    at + rest.iter().position(|&byte| counts(byte)).unwrap_or(rest.len())
}

/// Sets the highest bit of the first byte of a word that means something inside a JSON string, and bits behind it.
fn meaning(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    // What is below a number borrows from the byte behind it, and so only from there on the bits may be wrong.
    let below = |word: u64, number: u64| word.wrapping_sub(ONES * number) & !word;
    let equal = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    (below(word, 0x20) | equal(b'"') | equal(b'\\')) & (ONES << 7)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition is the reference, wherever the byte stands.
    #[test]
    fn the_first_byte_that_means_something_is_found() {
        for byte in 0..=u8::MAX {
            for length in 0..40 {
                for behind in ["", "\"", "plain\u{1f}", "é and more of it"] {
                    let mut bytes = vec![b'~'; length];
                    bytes.push(byte);
                    bytes.extend_from_slice(behind.as_bytes());
                    let first = |byte: &u8| matches!(byte, 0..0x20 | b'"' | b'\\');
                    let expected = bytes.iter().position(first).unwrap_or(bytes.len());
                    assert_eq!(plain(&bytes), expected, "{bytes:?}");
                }
            }
        }
    }

    /// `serde_json` is the reference.
    #[test]
    fn a_text_is_written_as_any_string() {
        let every: String = (0..0x250u32).filter_map(char::from_u32).collect();
        for text in [
            "",
            "plain",
            "é\u{1f336}\"\\/",
            "a text of more than one block, with a \"quote\" in it\n",
            &every,
        ] {
            let expected = serde_json::to_vec(text).expect("JSON");
            assert_eq!(crate::json::to_bytes(&Text(text.to_owned())).expect("JSON"), expected);
        }
    }
}
