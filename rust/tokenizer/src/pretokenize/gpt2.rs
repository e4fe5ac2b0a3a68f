//! GPT-2's pattern, which `ByteLevel` has built in.

use super::Pattern;
use super::classes::{Classes, LETTERS, NEITHER_WORD_NOR_SPACE, NUMBER, has, set};
use super::common::{is_white_space, lower_contraction, white_space};

/// The pattern's text.
pub const TEXT: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";

/// GPT-2's pattern.
pub struct Gpt2;

impl Pattern for Gpt2 {
    #[inline]
    fn next(&self, classes: &Classes, text: &[u8], start: usize) -> usize {
        if let Some(end) = lower_contraction(text, start) {
            return end;
        }
        let from = start + usize::from(text[start] == b' ');
        let (kind, length) = classes.at(text, from);
        for wanted in [LETTERS, set(&[NUMBER]), NEITHER_WORD_NOR_SPACE] {
            if has(wanted, kind) {
                return classes.run(text, from + length, wanted);
            }
        }
        debug_assert!(is_white_space(classes.at(text, start).0), "all other kinds are matched above");
        white_space(classes, text, start, false)
    }
}
