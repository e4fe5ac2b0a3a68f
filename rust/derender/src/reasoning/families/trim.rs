//! Blanks at the ends of the reasoning or the answer, which models write around their markers and which are no text.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::parse;

/// Which blanks of a part are no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trim {
    Nothing,
    /// Those at its end.
    End,
    /// Those at its start, too.
    Both,
}

/// Blanks that are held back; a longer run of them is text.
const MAX_BLANKS: usize = 64;

/// The text of a part, the reasoning or the answer, as far as it has come.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Blanks that are no text if the part ends behind them.
    blanks: String,
    begun: bool,
    /// Whether a run of blanks that was too long to be held goes on.
    flows: bool,
}

impl Part {
    /// See [`crate::parse::State::is_valid`].
    #[must_use]
    pub fn is_valid(&self) -> bool {
        parse::are_bounded(&[&self.blanks])
    }

    /// What of the next text can go out.
    pub fn text<'t>(&mut self, trim: Trim, text: &'t str) -> Cow<'t, str> {
        if trim == Trim::Nothing {
            return Cow::Borrowed(text);
        }
        let text = if self.begun || trim == Trim::End { text } else { text.trim_start() };
        if text.is_empty() {
            return Cow::Borrowed("");
        }
        self.begun = true;
        if self.flows && text.trim_start().is_empty() {
            return Cow::Borrowed(text);
        }
        let mut out = std::mem::take(&mut self.blanks);
        out.push_str(text);
        let end = out.trim_end().len();
        self.flows = out.len() - end > MAX_BLANKS;
        if !self.flows {
            self.blanks = out.split_off(end);
        }
        Cow::Owned(out)
    }

    /// Takes the held blanks, which are text: the part goes on with something that is no blank.
    pub fn release(&mut self) -> String {
        self.begun = true;
        self.flows = false;
        std::mem::take(&mut self.blanks)
    }

    /// Whether text of the part has come. Known only where something is trimmed.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.begun
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(trim: Trim, pieces: &[&str]) -> String {
        let mut part = Part::default();
        pieces.iter().map(|piece| part.text(trim, piece)).collect()
    }

    #[test]
    fn blanks_at_the_ends_are_dropped_and_those_between_are_not() {
        let text = "\n a  b \n";
        assert_eq!(joined(Trim::Nothing, &[text]), text);
        assert_eq!(joined(Trim::End, &[text]), text.trim_end());
        assert_eq!(joined(Trim::Both, &[text]), text.trim());
    }

    #[test]
    fn the_text_does_not_depend_on_the_cuts() {
        let blanks = " ".repeat(MAX_BLANKS + 6);
        for text in [format!("a{blanks}"), format!("a{blanks}b "), format!("{blanks}a \n b{blanks}")] {
            for trim in [Trim::End, Trim::Both] {
                let whole = joined(trim, &[&text]);
                for cut in 0..=text.len() {
                    assert_eq!(joined(trim, &[&text[..cut], &text[cut..]]), whole, "{text:?} cut at {cut}");
                }
            }
        }
    }
}
