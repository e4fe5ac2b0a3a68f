//! The pattern of o200k (gpt-oss, Llama 4), which cuts words at changes of case; Mistral's is a variant of it.

use super::Pattern;
use super::classes::{
    Classes, LETTER, LETTERS, LOWER, MARK, NEITHER_WORD_NOR_SPACE, NEWLINE, NUMBER, Set, UPPER, has, set,
};
use super::common::{contraction, numbers, symbols, white_space};

/// The pattern's text with contractions and up to three digits: o200k.
pub const O200K: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";
/// The pattern's text with neither contractions nor groups of digits: Mistral's Tekken.
pub const TEKKEN: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`.
const UPPERS: Set = set(&[UPPER, LETTER, MARK]);
/// `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`.
const LOWERS: Set = set(&[LOWER, LETTER, MARK]);

/// The pattern of o200k.
pub struct O200k {
    /// The most digits that go together.
    pub digits: usize,
    /// Whether `'s` and the like end a word.
    pub contractions: bool,
}

/// What the two word alternatives match from a place on.
struct Word {
    /// The end of `[uppers]*[lowers]+`, where it matches.
    first: Option<usize>,
    /// The end of `[uppers]+[lowers]*`, where it matches; looked at only if the first does not match.
    second: Option<usize>,
}

impl O200k {
    fn word(classes: &Classes, text: &[u8], start: usize) -> Word {
        // The greedy run of upper cases, and the end of its last character that may also count as a lower case.
        let (mut end, mut last_both) = (start, None);
        let kind = loop {
            let (kind, length) = classes.at(text, end);
            if !has(UPPERS, kind) {
                break kind;
            }
            end += length;
            if has(LOWERS, kind) {
                last_both = Some(end);
            }
        };
        let first = if kind == LOWER { Some(classes.run(text, end, LOWERS)) } else { last_both };
        Word { first, second: (end > start).then_some(end) }
    }
}

impl Pattern for O200k {
    #[inline]
    fn next(&self, classes: &Classes, text: &[u8], start: usize) -> usize {
        let (kind, length) = classes.at(text, start);
        let bare = has(LETTERS | set(&[MARK]), kind).then(|| Self::word(classes, text, start));
        // `[^\r\n\p{L}\p{N}]?` is greedy, so the word after a leading character is tried first.
        let led = (!has(LETTERS | set(&[NUMBER, NEWLINE]), kind))
            .then(|| Self::word(classes, text, start + length));
        let first = |word: &Option<Word>| word.as_ref().and_then(|word| word.first);
        let second = |word: &Option<Word>| word.as_ref().and_then(|word| word.second);
        let word = first(&led).or_else(|| first(&bare)).or_else(|| second(&led)).or_else(|| second(&bare));
        if let Some(end) = word {
            let tail = if self.contractions { contraction(text, end) } else { None };
            return tail.unwrap_or(end);
        }
        if kind == NUMBER {
            return numbers(classes, text, start, self.digits);
        }
        symbols(classes, text, start, NEITHER_WORD_NOR_SPACE, b"\r\n/")
            .unwrap_or_else(|| white_space(classes, text, start, true))
    }
}
