//! Cutting a text into the words that are encoded each on its own.
//!
//! A tokenizer's file names regular expressions. The well-known ones, recognised by their exact text, are scanned
//! here by hand; `tests/pretokenize.rs` compares each with `tokenizers`.

mod cl100k;
pub mod classes;
mod common;
mod deepseek;
mod gpt2;
mod o200k;
#[cfg(test)]
mod tests;

use classes::{CLASSES, Classes};

/// A regular expression of which every place of a text begins a match or a part between matches.
pub trait Pattern {
    /// The end of what begins at `start`, which lies in the text and begins a character.
    fn next(&self, classes: &Classes, text: &[u8], start: usize) -> usize;
}

/// A first cut into pieces, in each of which the pattern sees nothing of the others.
pub trait Pieces {
    /// The end of the piece that begins at `start`, which lies in the text and begins a character.
    fn end(&self, classes: &Classes, text: &[u8], start: usize) -> usize;
}

/// One piece: the text.
struct Whole;

impl Pieces for Whole {
    #[inline]
    fn end(&self, _: &Classes, text: &[u8], _: usize) -> usize {
        text.len()
    }
}

/// `Digits`: numbers apart from the rest, each on its own or in runs.
struct Digits {
    individual: bool,
}

impl Pieces for Digits {
    fn end(&self, _: &Classes, text: &[u8], start: usize) -> usize {
        // `char::is_numeric` is what `tokenizers` asks, of whatever Unicode version Rust has.
        let numeric = |place: usize| {
            let (code, length) = classes::code_point(text, place);
            (char::from_u32(code).is_some_and(char::is_numeric), length)
        };
        let (first, length) = numeric(start);
        let mut end = start + length;
        if first && self.individual {
            return end;
        }
        while end < text.len() {
            let (next, length) = numeric(end);
            if next != first {
                break;
            }
            end += length;
        }
        end
    }
}

/// The ways of cutting that are known here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Splitter {
    /// GPT-2's pattern, after `Digits` where it is given.
    Gpt2 { digits: Option<bool> },
    /// The pattern of cl100k.
    Cl100k { digits: usize, marks: bool },
    /// The pattern of o200k.
    O200k { digits: usize, contractions: bool },
    /// DeepSeek V3's three patterns.
    DeepSeek,
}

impl Splitter {
    /// The splitter of a sequence of patterns, none where they are not known here.
    pub fn of_patterns(patterns: &[&str]) -> Option<Self> {
        match patterns {
            [cl100k::THREE_DIGITS] => Some(Self::Cl100k { digits: 3, marks: false }),
            [cl100k::ONE_DIGIT] => Some(Self::Cl100k { digits: 1, marks: false }),
            [cl100k::ONE_DIGIT_MARKS] => Some(Self::Cl100k { digits: 1, marks: true }),
            [o200k::O200K] => Some(Self::O200k { digits: 3, contractions: true }),
            [o200k::TEKKEN] => Some(Self::O200k { digits: 1, contractions: false }),
            [gpt2::TEXT] => Some(Self::Gpt2 { digits: None }),
            [deepseek::NUMBERS, deepseek::CHINESE, deepseek::REST] => Some(Self::DeepSeek),
            _ => None,
        }
    }

    /// Calls `word` with the start and the end of every word, in order; together they cover the text.
    #[inline]
    pub fn split(self, text: &[u8], word: impl FnMut(usize, usize)) {
        match self {
            Self::Gpt2 { digits: None } => cut(&Whole, &gpt2::Gpt2, text, word),
            Self::Gpt2 { digits: Some(individual) } => cut(&Digits { individual }, &gpt2::Gpt2, text, word),
            Self::Cl100k { digits, marks } => cut(&Whole, &cl100k::Cl100k { digits, marks }, text, word),
            Self::O200k { digits, contractions } => {
                cut(&Whole, &o200k::O200k { digits, contractions }, text, word);
            }
            Self::DeepSeek => cut(&deepseek::DeepSeekPieces, &deepseek::DeepSeekRest, text, word),
        }
    }
}

#[inline]
fn cut(pieces: &impl Pieces, pattern: &impl Pattern, text: &[u8], mut word: impl FnMut(usize, usize)) {
    let classes = &*CLASSES;
    let mut start = 0;
    while start < text.len() {
        let piece = &text[..pieces.end(classes, text, start)];
        while start < piece.len() {
            let end = pattern.next(classes, piece, start);
            word(start, end);
            start = end;
        }
    }
}
