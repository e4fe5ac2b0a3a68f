//! The text that a JSON string stands for, read in pieces.

use serde::{Deserialize, Serialize};

/// An escape and all but the last digit of another.
const MAX_HELD: usize = 11;

/// Reads what stands between the quotes of a well-formed JSON string.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unescape {
    /// An escape under way, or the first half of a surrogate pair: at most [`MAX_HELD`] bytes.
    held: String,
}

impl Unescape {
    /// See [`super::State::is_valid`].
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.held.len() <= MAX_HELD
    }

    /// Appends the text of the next piece to `out`.
    pub fn feed(&mut self, piece: &str, out: &mut String) {
        self.held.push_str(piece);
        let text = std::mem::take(&mut self.held);
        let mut rest = text.as_str();
        while let Some(at) = rest.find('\\') {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            let Some((character, length)) = escape(rest) else {
                rest.clone_into(&mut self.held);
                return;
            };
            out.push(character);
            rest = rest.get(length..).unwrap_or_default();
        }
        out.push_str(rest);
    }

    /// As [`Unescape::feed`], up to the quote that ends the string. Returns its place; none where it is still to come.
    pub fn feed_until_quote(&mut self, piece: &str, out: &mut String) -> Option<usize> {
        // A backslash that is held escapes the first character.
        let mut escaped = self.held.ends_with('\\');
        let end = piece.bytes().position(|byte| {
            let ends = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            ends
        });
        self.feed(&piece[..end.unwrap_or(piece.len())], out);
        end
    }

    /// The string ends: a half of a surrogate pair is left alone.
    pub fn finish(&mut self, out: &mut String) {
        if !std::mem::take(&mut self.held).is_empty() {
            out.push(char::REPLACEMENT_CHARACTER);
        }
    }
}

/// The character of the escape that `text` begins with, and the escape's length; none where more is needed.
fn escape(text: &str) -> Option<(char, usize)> {
    let simple = match text.as_bytes().get(1)? {
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return unicode(text),
        &other => char::from(other),
    };
    Some((simple, 2))
}

fn unicode(text: &str) -> Option<(char, usize)> {
    let replacement = Some((char::REPLACEMENT_CHARACTER, 2));
    let unit = |from: usize| u32::from_str_radix(text.get(from..from + 4)?, 16).ok();
    let Some(first) = unit(2) else { return replacement.filter(|_| text.len() >= 6) };
    if !(0xd800..0xdc00).contains(&first) {
        return Some((char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), 6));
    }
    let second = &text[6..];
    if second.len() < 6 && ("\\u".starts_with(second) || second.starts_with("\\u")) {
        return None;
    }
    let low = if second.starts_with("\\u") { unit(8)? } else { 0 };
    if !(0xdc00..0xe000).contains(&low) {
        return Some((char::REPLACEMENT_CHARACTER, 6));
    }
    let code = 0x10000 + ((first - 0xd800) << 10) + (low - 0xdc00);
    Some((char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 12))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `serde_json` is the reference.
    #[test]
    fn it_reads_what_serde_json_reads_in_any_pieces() {
        for text in [r#"a\n\"b\"\\ \/ \u00e9é"#, r"\ud83c\udf36!", r"\t", "", r"\u5929\u0041"] {
            let expected: String = serde_json::from_str(&format!("\"{text}\"")).expect("a string");
            for cut in (0..=text.len()).filter(|&cut| text.is_char_boundary(cut)) {
                let (mut reader, mut out) = (Unescape::default(), String::new());
                reader.feed(&text[..cut], &mut out);
                reader.feed(&text[cut..], &mut out);
                reader.finish(&mut out);
                assert_eq!(out, expected, "{text} cut at {cut}");
            }
        }
    }

    #[test]
    fn half_a_surrogate_pair_is_replaced() {
        for (text, expected) in
            [(r"\ud83cx", "\u{fffd}x"), (r"\ud83c\u0041", "\u{fffd}A"), (r"\udf36", "\u{fffd}")]
        {
            let (mut reader, mut out) = (Unescape::default(), String::new());
            reader.feed(text, &mut out);
            reader.finish(&mut out);
            assert_eq!(out, expected, "{text}");
        }
    }
}
