//! DeepSeek V3's three patterns, one after another: numbers, then Chinese and Japanese, then the rest.

use super::classes::{
    Classes, LETTERS, MARK, NEWLINE, NUMBER, OTHER, PUNCTUATION, SYMBOL, Set, code_point, has, set,
};
use super::common::{is_white_space, numbers, symbols, white_space};
use super::{Pattern, Pieces};

/// The first pattern's text.
pub const NUMBERS: &str = r"\p{N}{1,3}";
/// The second pattern's text.
pub const CHINESE: &str = "[一-龥\u{3040}-ゟ゠-ヿ]+";
/// The third pattern's text.
pub const REST: &str = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+";

const WORD: Set = LETTERS | set(&[MARK]);
const SIGNS: Set = set(&[PUNCTUATION, SYMBOL]);

/// The first two patterns: which piece begins at a place.
pub struct DeepSeekPieces;

fn is_chinese(text: &[u8], place: usize) -> bool {
    // All of them have three bytes that begin so.
    matches!(text.get(place), Some(0xe3..=0xe9))
        && matches!(code_point(text, place).0, 0x4e00..=0x9fa5 | 0x3040..=0x30ff)
}

impl Pieces for DeepSeekPieces {
    #[inline]
    fn end(&self, classes: &Classes, text: &[u8], start: usize) -> usize {
        let end = numbers(classes, text, start, 3);
        if end > start {
            return end;
        }
        let mut end = start;
        if is_chinese(text, start) {
            while is_chinese(text, end) {
                end += 3;
            }
            return end;
        }
        loop {
            let (kind, length) = classes.at(text, end);
            if length == 0 || kind == NUMBER || is_chinese(text, end) {
                return end;
            }
            end += length;
        }
    }
}

/// The third pattern. What it does not match stays together as a word of its own.
pub struct DeepSeekRest;

impl DeepSeekRest {
    /// Whether the pattern matches at a character of no other alternative, because letters follow it.
    fn leads_a_word(classes: &Classes, text: &[u8], after: usize) -> bool {
        has(WORD, classes.at(text, after).0)
    }
}

impl Pattern for DeepSeekRest {
    #[inline]
    fn next(&self, classes: &Classes, text: &[u8], start: usize) -> usize {
        if text[start].is_ascii_punctuation() {
            let letters = text[start + 1..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
            if letters > 0 {
                return start + 1 + letters;
            }
        }
        let (kind, length) = classes.at(text, start);
        if has(WORD, kind) {
            return classes.run(text, start + length, WORD);
        }
        if kind != NEWLINE && !has(SIGNS, kind) {
            let end = classes.run(text, start + length, WORD);
            if end > start + length {
                return end;
            }
        }
        if let Some(end) = symbols(classes, text, start, SIGNS, b"\r\n") {
            return end;
        }
        if is_white_space(kind) {
            return white_space(classes, text, start, true);
        }
        let mut end = start + length;
        loop {
            let (kind, length) = classes.at(text, end);
            let unmatched = kind == OTHER || kind == NUMBER;
            if !unmatched || Self::leads_a_word(classes, text, end + length) {
                return end;
            }
            end += length;
        }
    }
}
