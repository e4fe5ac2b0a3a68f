//! Text as the inside of a JSON string, piece by piece.

use std::convert::Infallible;

use dragoman_protocol::text::escape;

/// Appends `text` to `out` as it stands between the quotes of a JSON string. The escaped pieces of a text, joined, are
/// the escaped text.
pub fn push(text: &str, out: &mut String) {
    let Ok(()) = escape(text, |run| {
        out.push_str(run);
        Ok::<(), Infallible>(())
    });
}

/// A text as a JSON string.
#[must_use]
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    push(text, &mut out);
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `serde_json` is the reference.
    #[test]
    fn it_writes_what_serde_json_writes() {
        for text in ["", "plain", "a\"b\\c\n\r\t\u{8}\u{c}\u{1}\u{1f}\u{7f}é\u{1f336}", "/"] {
            assert_eq!(quoted(text), serde_json::to_string(text).expect("a string"));
        }
    }
}
