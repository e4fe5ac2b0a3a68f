//! The arguments of a tool call as clients can use them: an object, however the model wrote it.
//!
//! ```text
//! {"city": "Oslo"}              as it is
//! null, "" or nothing           {}
//! "{\"city\": \"Oslo\"}"        {"city": "Oslo"}     (an object in a string)
//! ```
//!
//! Everything else is passed on as it is. Parsers emit arguments as the model wrote them, in pieces; what is held
//! until it is decided is a few bytes.

use serde::{Deserialize, Serialize};

use crate::parse::Unescape;

/// The start of a string that is held; where more of it is blank, it is passed on.
const MAX_HELD: usize = 64;

/// What the arguments so far are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// Nothing, or the start of something that is undecided.
    #[default]
    Start,
    Undecided(String),
    /// Passed on as they are.
    Verbatim,
    /// An object in a string.
    Quoted(Unescape),
    /// After the end of the string.
    Closed,
}

impl State {
    /// See [`crate::parse::State::is_valid`].
    #[must_use]
    pub fn is_valid(&self) -> bool {
        match self {
            Self::Undecided(held) => held.len() <= MAX_HELD,
            Self::Quoted(inside) => inside.is_valid(),
            Self::Start | Self::Verbatim | Self::Closed => true,
        }
    }

    /// Takes the next piece and appends to `out` what is decided.
    pub fn push(&mut self, piece: &str, out: &mut String) {
        match self {
            Self::Verbatim => out.push_str(piece),
            Self::Quoted(_) => self.quoted(piece, out),
            Self::Closed => {}
            Self::Start | Self::Undecided(_) => {
                let mut text = self.take_held();
                text.push_str(piece);
                self.decide(text, out);
            }
        }
    }

    /// The call is complete, or was cut. Appends what is held to `out`: a complete call always has an object.
    pub fn finish(&mut self, complete: bool, out: &mut String) {
        let empty = matches!(self, Self::Start | Self::Undecided(_));
        let held = self.take_held();
        if complete && empty && matches!(held.trim(), "" | "null" | "\"\"") {
            out.push_str("{}");
        } else {
            out.push_str(&held);
        }
        *self = Self::Start;
    }

    fn take_held(&mut self) -> String {
        match self {
            Self::Undecided(held) => std::mem::take(held),
            _ => String::new(),
        }
    }

    fn decide(&mut self, text: String, out: &mut String) {
        let begun = text.trim_start();
        let blanks = text.len() - begun.len();
        let undecided = match begun.as_bytes() {
            [] => true,
            [b'n', ..] => "null".starts_with(begun.trim_end()),
            [b'"', inside @ ..] => match object_in_string(inside) {
                Some(true) => {
                    *self = Self::Quoted(Unescape::default());
                    return self.quoted(&text[blanks + 1..], out);
                }
                Some(false) => false,
                None => true,
            },
            _ => false,
        };
        if undecided && text.len() <= MAX_HELD {
            *self = Self::Undecided(text);
        } else {
            *self = Self::Verbatim;
            out.push_str(&text);
        }
    }

    fn quoted(&mut self, piece: &str, out: &mut String) {
        let Self::Quoted(inner) = self else { return };
        let end = inner.feed_until_quote(piece, out);
        if end.is_some() {
            inner.finish(out);
            *self = Self::Closed;
        }
    }
}

/// Whether a string begins with an object. `inside`: what stands behind its first quote. None: more decides.
fn object_in_string(mut inside: &[u8]) -> Option<bool> {
    loop {
        inside = match inside {
            [] | [b'\\'] => return None,
            [b' ' | b'\t' | b'\n' | b'\r', rest @ ..] | [b'\\', b'n' | b't' | b'r', rest @ ..] => rest,
            [b'"', rest @ ..] if rest.trim_ascii().is_empty() => return None,
            [first, ..] => return Some(*first == b'{'),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The arguments that come of a text cut in two.
    fn arguments(text: &str, cut: usize, complete: bool) -> String {
        let (mut state, mut out) = (State::default(), String::new());
        state.push(&text[..cut], &mut out);
        state.push(&text[cut..], &mut out);
        state.finish(complete, &mut out);
        assert_eq!(state, State::Start);
        out
    }

    #[test]
    fn a_complete_call_has_an_object_where_the_model_meant_one_in_any_pieces() {
        let cases = [
            (r#"{"a": 1}"#, r#"{"a": 1}"#),
            ("", "{}"),
            ("null", "{}"),
            (" null\n", "{}"),
            (r#""""#, "{}"),
            (r#""{\"a\": \"b\\n\\u00e9\"}" "#, r#"{"a": "b\n\u00e9"}"#),
            (r#""\n {}""#, "\n {}"),
            (r#""{\ud83c\udf36""#, "{\u{1f336}"),
            (r#""plain""#, r#""plain""#),
            (r#""""x"#, r#""""x"#),
            ("[1]", "[1]"),
            ("nullify", "nullify"),
            ("nul", "nul"),
            ("7", "7"),
        ];
        for (text, expected) in cases {
            for cut in (0..=text.len()).filter(|&cut| text.is_char_boundary(cut)) {
                assert_eq!(arguments(text, cut, true), expected, "{text} cut at {cut}");
            }
        }
    }

    #[test]
    fn a_call_that_was_cut_keeps_what_was_written() {
        for (text, expected) in [("null", "null"), ("", ""), ("\"", "\""), ("\"{\\\"a", "{\"a")] {
            assert_eq!(arguments(text, 0, false), expected);
        }
    }
}
