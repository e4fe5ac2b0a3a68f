//! Text as Python has it: `repr`, whitespace, lone surrogates, positions in code points.

mod case;
mod character;
mod float;
mod html;

pub(crate) use case::{capitalized, lowercased, swapped_case, titled, uppercased};
pub(crate) use character::{DigitKind, digit_kind, is_cased};
pub(crate) use float::{fixed, float_text, general, scientific};
pub(crate) use html::{escape, strip_tags, unescape};

use std::fmt::Write as _;

/// The number of code points.
pub(crate) fn length(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().count() }
}

/// Python's whitespace (`str.isspace`), which has four separators more than Unicode's property.
pub(crate) fn is_space(character: char) -> bool {
    character.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&character)
}

/// The first of the private-use characters that stand for the lone surrogates U+D800..U+DFFF.
const SURROGATE_BASE: u32 = 0x10_F800;

/// The character that stands for a lone surrogate, which a Rust text cannot hold.
pub(crate) fn surrogate(code: u32) -> Option<char> {
    (0xD800..=0xDFFF).contains(&code).then(|| char::from_u32(SURROGATE_BASE + (code - 0xD800)))?
}

/// The lone surrogate that a character stands for.
pub(crate) fn as_surrogate(character: char) -> Option<u32> {
    let code = u32::from(character);
    (code >= SURROGATE_BASE).then(|| code - SURROGATE_BASE + 0xD800)
}

/// Whether Python's `repr` shows a character as it is.
pub(crate) fn is_printable(character: char) -> bool {
    if character.is_ascii() {
        return (' '..='~').contains(&character);
    }
    // Rust's `escape_debug` escapes the same categories as Python, and combining characters too, but those only at
    // the start of a text.
    let mut buffer = [b'a'; 5];
    let length = character.encode_utf8(&mut buffer[1..]).len();
    let text = std::str::from_utf8(&buffer[..=length]).unwrap_or_default();
    text.escape_debug().nth(1) == Some(character)
}

/// Appends a text as Python's `repr` shows it.
pub(crate) fn quoted(text: &str, out: &mut String) {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.push(quote);
    for character in text.chars() {
        match character {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            c if is_printable(c) => out.push(c),
            c => {
                let code = as_surrogate(c).unwrap_or(u32::from(c));
                // Writing to a text does not fail.
                let _ = match code {
                    0..=0xff => write!(out, "\\x{code:02x}"),
                    0x100..=0xffff => write!(out, "\\u{code:04x}"),
                    _ => write!(out, "\\U{code:08x}"),
                };
            }
        }
    }
    out.push(quote);
}

/// Appends bytes as Python's `repr` shows them.
pub(crate) fn quoted_bytes(bytes: &[u8], out: &mut String) {
    let quote = if bytes.contains(&b'\'') && !bytes.contains(&b'"') { b'"' } else { b'\'' };
    out.push('b');
    out.push(char::from(quote));
    for &byte in bytes {
        match byte {
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            b if b == quote => {
                out.push('\\');
                out.push(char::from(b));
            }
            b' '..=b'~' => out.push(char::from(byte)),
            _ => {
                let _ = write!(out, "\\x{byte:02x}");
            }
        }
    }
    out.push(char::from(quote));
}

/// The byte offset of a code point, or of the end if there are fewer.
pub(crate) fn byte_offset(text: &str, position: usize) -> usize {
    if text.is_ascii() {
        return position.min(text.len());
    }
    text.char_indices().nth(position).map_or(text.len(), |(at, _)| at)
}
