//! The kind of character that each code point is, as the well-known splitting patterns tell them apart.
//!
//! The reference is Oniguruma, which `tokenizers` runs its patterns with; `tests/classes.rs` compares every code
//! point with it.

use std::sync::LazyLock;

use regex_syntax::hir::{Class as HirClass, HirKind};

/// Anything else: controls, format characters, unassigned code points.
pub const OTHER: u8 = 0;
/// `\p{Lu}` and `\p{Lt}`.
pub const UPPER: u8 = 1;
/// `\p{Ll}`.
pub const LOWER: u8 = 2;
/// `\p{Lm}` and `\p{Lo}`.
pub const LETTER: u8 = 3;
/// `\p{M}`.
pub const MARK: u8 = 4;
/// `\p{N}`.
pub const NUMBER: u8 = 5;
/// `\p{P}`.
pub const PUNCTUATION: u8 = 6;
/// `\p{S}`.
pub const SYMBOL: u8 = 7;
/// `\s` but for the next kind.
pub const SPACE: u8 = 8;
/// `\r` and `\n`.
pub const NEWLINE: u8 = 9;
/// No character: the end of the text.
pub const END: u8 = 10;

/// A set of kinds, a bit each.
pub type Set = u16;

/// The set of the given kinds.
pub const fn set(kinds: &[u8]) -> Set {
    let (mut bits, mut index) = (0, 0);
    while index < kinds.len() {
        bits |= 1 << kinds[index];
        index += 1;
    }
    bits
}

/// Whether a kind is in a set.
#[inline]
pub const fn has(set: Set, kind: u8) -> bool {
    set >> kind & 1 != 0
}

/// `\p{L}`.
pub const LETTERS: Set = set(&[UPPER, LOWER, LETTER]);
/// `[^\s\p{L}\p{N}]`.
pub const NEITHER_WORD_NOR_SPACE: Set = set(&[OTHER, MARK, PUNCTUATION, SYMBOL]);

/// The kinds of all code points.
pub struct Classes {
    kinds: Box<[u8]>,
}

/// The table, made on first use from the Unicode tables of `regex-syntax`.
pub static CLASSES: LazyLock<Classes> = LazyLock::new(Classes::new);

impl Classes {
    fn new() -> Self {
        let mut kinds = vec![OTHER; 0x11_0000].into_boxed_slice();
        let patterns = [
            (r"[\p{Lu}\p{Lt}]", UPPER),
            (r"\p{Ll}", LOWER),
            (r"[\p{Lm}\p{Lo}]", LETTER),
            (r"\p{M}", MARK),
            (r"\p{N}", NUMBER),
            (r"\p{P}", PUNCTUATION),
            (r"\p{S}", SYMBOL),
            (r"\s", SPACE),
            (r"[\r\n]", NEWLINE),
        ];
        for (pattern, kind) in patterns {
            let Ok(hir) = regex_syntax::parse(pattern) else { continue };
            let HirKind::Class(HirClass::Unicode(class)) = hir.kind() else { continue };
            for range in class.ranges() {
                kinds[range.start() as usize..=range.end() as usize].fill(kind);
            }
        }
        Self { kinds }
    }

    /// The kind and the length in bytes of the character that begins at `place`; ([`END`], 0) past the end.
    #[inline]
    pub fn at(&self, text: &[u8], place: usize) -> (u8, usize) {
        match text.get(place) {
            None => (END, 0),
            Some(&byte) if byte < 0x80 => (self.kinds[byte as usize], 1),
            Some(_) => {
                let (code, length) = code_point(text, place);
                (self.kinds.get(code as usize).copied().unwrap_or(OTHER), length)
            }
        }
    }

    /// Where the run of characters of a set that begins at `place` ends.
    #[inline]
    pub fn run(&self, text: &[u8], mut place: usize, wanted: Set) -> usize {
        loop {
            let (kind, length) = self.at(text, place);
            if !has(wanted, kind) {
                return place;
            }
            place += length;
        }
    }
}

/// The code point that begins at `place` of a UTF-8 text, and its length in bytes.
#[inline]
pub fn code_point(text: &[u8], place: usize) -> (u32, usize) {
    let byte = |offset: usize| u32::from(text.get(place + offset).copied().unwrap_or_default());
    let low = |offset: usize| byte(offset) & 0x3f;
    let first = byte(0);
    match first {
        0..0x80 => (first, 1),
        0x80..0xe0 => ((first & 0x1f) << 6 | low(1), 2),
        0xe0..0xf0 => ((first & 0x0f) << 12 | low(1) << 6 | low(2), 3),
        _ => ((first & 0x07) << 18 | low(1) << 12 | low(2) << 6 | low(3), 4),
    }
}
