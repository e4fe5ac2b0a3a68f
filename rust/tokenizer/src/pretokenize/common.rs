//! Alternatives that the well-known patterns share.

use super::classes::{Classes, END, NEWLINE, NUMBER, SPACE, has, set};

/// `\s*[\r\n]+|\s+(?!\S)|\s+` at a white space: the end of the match. With `newlines` false, without the first of
/// the three.
pub fn white_space(classes: &Classes, text: &[u8], start: usize, newlines: bool) -> usize {
    let (mut end, mut last, mut after_newline) = (start, start, None);
    let stopped_by = loop {
        let (kind, length) = classes.at(text, end);
        match kind {
            SPACE => {}
            NEWLINE => after_newline = Some(end + 1),
            other => break other,
        }
        last = end;
        end += length;
    };
    if let (true, Some(end)) = (newlines, after_newline) {
        return end;
    }
    // `\s+(?!\S)` gives its last character back where something else follows, unless that leaves nothing.
    if stopped_by == END || last == start { end } else { last }
}

/// `\p{N}{1,most}` at a number: the end of the match.
pub fn numbers(classes: &Classes, text: &[u8], start: usize, most: usize) -> usize {
    let mut end = start;
    for _ in 0..most {
        let (kind, length) = classes.at(text, end);
        if kind != NUMBER {
            break;
        }
        end += length;
    }
    end
}

/// `(?i:'s|'t|'re|'ve|'m|'ll|'d)`: the end of the match, where there is one. `ſ` folds to `s`.
#[inline]
pub fn contraction(text: &[u8], start: usize) -> Option<usize> {
    if text.get(start) != Some(&b'\'') {
        return None;
    }
    let letter = |offset: usize| text.get(start + offset).map(u8::to_ascii_lowercase);
    match (letter(1)?, letter(2)) {
        (b's' | b't' | b'm' | b'd', _) => Some(start + 2),
        (b'r' | b'v', Some(b'e')) | (b'l', Some(b'l')) | (0xc5, Some(0xbf)) => Some(start + 3),
        _ => None,
    }
}

/// `'s|'t|'re|'ve|'m|'ll|'d`: the end of the match, where there is one.
#[inline]
pub fn lower_contraction(text: &[u8], start: usize) -> Option<usize> {
    match text.get(start..)? {
        [b'\'', b's' | b't' | b'm' | b'd', ..] => Some(start + 2),
        [b'\'', b'r' | b'v', b'e', ..] | [b'\'', b'l', b'l', ..] => Some(start + 3),
        _ => None,
    }
}

/// ` ?[set]+` followed by any bytes of `tail`: the end of the match, where there is one.
#[inline]
pub fn symbols(classes: &Classes, text: &[u8], start: usize, wanted: u16, tail: &[u8]) -> Option<usize> {
    let from = start + usize::from(text.get(start) == Some(&b' '));
    let mut end = classes.run(text, from, wanted);
    if end == from {
        return None;
    }
    while text.get(end).is_some_and(|byte| tail.contains(byte)) {
        end += 1;
    }
    Some(end)
}

/// Whether a kind is white space.
#[inline]
pub const fn is_white_space(kind: u8) -> bool {
    has(set(&[SPACE, NEWLINE]), kind)
}
