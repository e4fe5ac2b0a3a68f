//! The pattern of cl100k, which Llama 3, Qwen 2 and many others use; they differ in how many digits go together.

use super::Pattern;
use super::classes::{Classes, LETTERS, MARK, NEITHER_WORD_NOR_SPACE, NEWLINE, NUMBER, Set, has, set};
use super::common::{contraction, numbers, symbols, white_space};

/// The pattern's text with up to three digits: cl100k, Llama 3, GLM 4.
pub const THREE_DIGITS: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
/// The pattern's text with one digit: Qwen 2 to 3.
pub const ONE_DIGIT: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
/// The pattern's text with one digit, and with marks as letters: Qwen 3.5.
pub const ONE_DIGIT_MARKS: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// The pattern of cl100k.
pub struct Cl100k {
    /// The most digits that go together.
    pub digits: usize,
    /// Whether marks count as letters.
    pub marks: bool,
}

impl Cl100k {
    #[inline]
    const fn sets(&self) -> (Set, Set) {
        let mark = set(&[MARK]);
        if self.marks {
            (LETTERS | mark, NEITHER_WORD_NOR_SPACE & !mark)
        } else {
            (LETTERS, NEITHER_WORD_NOR_SPACE)
        }
    }
}

impl Pattern for Cl100k {
    #[inline]
    fn next(&self, classes: &Classes, text: &[u8], start: usize) -> usize {
        if let Some(end) = contraction(text, start) {
            return end;
        }
        let (letters, others) = self.sets();
        let (kind, length) = classes.at(text, start);
        if has(letters, kind) {
            return classes.run(text, start + length, letters);
        }
        if kind == NUMBER {
            return numbers(classes, text, start, self.digits);
        }
        if kind != NEWLINE {
            let end = classes.run(text, start + length, letters);
            if end > start + length {
                return end;
            }
        }
        symbols(classes, text, start, others, b"\r\n")
            .unwrap_or_else(|| white_space(classes, text, start, true))
    }
}
