//! Where tokens lie in the text, in code points, from the widths of the tokens.

use super::lexicon::Lexicon;

/// How a text that was encoded lies in the original.
#[derive(Clone, Copy)]
pub enum Places<'a> {
    /// It is the original.
    Same,
    /// It has one character more, in front, which counts as part of the next.
    Shifted,
    /// Each byte has a range of code points.
    Mapped(&'a [[u32; 2]]),
}

/// A word of which some bytes have no token: its tokens' range in the ids and its own in the text, in bytes.
pub struct Gap {
    /// Index of the first id.
    pub first: usize,
    /// Index after the last id.
    pub last: usize,
    /// Where the word starts.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
}

/// A stretch of text and its tokens.
pub struct Encoded<'a> {
    /// The text that was encoded.
    pub text: &'a [u8],
    /// How it lies in the original.
    pub places: Places<'a>,
    /// Its ids.
    pub ids: &'a [u32],
    /// Words with bytes left out, in order; their indices count from the first of `ids`.
    pub gaps: &'a [Gap],
    /// The place of the original's first code point, added to all.
    pub base: u32,
}

/// Appends the offsets of byte-level tokens, whose lengths in bytes are `widths`, by id.
pub fn byte_level(encoded: &Encoded<'_>, widths: &[u16], lexicon: &Lexicon, offsets: &mut Vec<[u32; 2]>) {
    let Encoded { text, places, ids, gaps, base } = *encoded;
    let width = |id: u32| u32::from(widths.get(id as usize).copied().unwrap_or_default());
    if gaps.is_empty() && matches!(places, Places::Same) && text.is_ascii() {
        let mut start = base;
        offsets.extend(ids.iter().map(|&id| {
            let range = [start, start + width(id)];
            start = range[1];
            range
        }));
        return;
    }
    let mut place = Place { text, places, base, byte: 0, leads: 0 };
    let mut from = 0;
    for gap in gaps {
        offsets.extend(ids[from..gap.first].iter().map(|&id| place.advance(width(id))));
        place.pass_gap(&ids[gap.first..gap.last], lexicon, gap, offsets);
        from = gap.last;
    }
    offsets.extend(ids[from..].iter().map(|&id| place.advance(width(id))));
}

/// Marks the width of a token that stands for one byte of a character, beside the byte.
pub const BYTE_TOKEN: u16 = 0x8000;

/// Appends the offsets of a SentencePiece model's tokens, whose lengths in characters are `widths`, by id.
pub fn pieces(encoded: &Encoded<'_>, widths: &[u16], offsets: &mut Vec<[u32; 2]>) {
    let shifted = matches!(encoded.places, Places::Shifted);
    let range = |start: u32, end: u32| {
        let (start, end) = if shifted { (start.saturating_sub(1), (end - 1).max(1)) } else { (start, end) };
        [encoded.base + start, encoded.base + end]
    };
    let (mut next, mut bytes_left) = (0, 0);
    offsets.extend(encoded.ids.iter().map(|&id| {
        let width = widths.get(id as usize).copied().unwrap_or_default();
        if width & BYTE_TOKEN == 0 {
            next += u32::from(width);
            return range(next - u32::from(width), next);
        }
        // The bytes of one character: each has the whole character's place.
        if bytes_left == 0 {
            next += 1;
            bytes_left = match width & 0xff {
                0..0xc0 => 1,
                0xc0..0xe0 => 2,
                0xe0..0xf0 => 3,
                _ => 4,
            };
        }
        bytes_left -= 1;
        range(next - 1, next)
    }));
}

/// A place in a text, in bytes and in characters that have begun before it.
struct Place<'a> {
    text: &'a [u8],
    places: Places<'a>,
    base: u32,
    byte: usize,
    leads: u32,
}

impl Place<'_> {
    /// Goes on by some bytes; gives the range of the code points that they are part of.
    fn advance(&mut self, bytes: u32) -> [u32; 2] {
        let (start, end) = (self.byte, self.byte + bytes as usize);
        let inside = !self.text.get(start).is_none_or(|&byte| is_lead(byte));
        let first = self.leads - u32::from(inside);
        let passed =
            self.text.get(start..end).unwrap_or_default().iter().filter(|&&byte| is_lead(byte)).count();
        self.leads += u32::try_from(passed).unwrap_or_default();
        self.byte = end;
        self.range([first, self.leads], start, end)
    }

    fn range(&self, characters: [u32; 2], start: usize, end: usize) -> [u32; 2] {
        let [first, last] = match self.places {
            Places::Same => characters,
            Places::Shifted => [characters[0].saturating_sub(1), characters[1].saturating_sub(1).max(1)],
            Places::Mapped(places) => {
                let at = |byte: usize| places.get(byte).copied().unwrap_or_default();
                [at(start)[0], at(end.saturating_sub(1))[1]]
            }
        };
        [self.base + first, self.base + last]
    }

    /// The tokens of a word with bytes left out. `tokenizers` lays them side by side from the word's start on, and
    /// measures in the UTF-8 of the byte-level alphabet.
    fn pass_gap(&mut self, ids: &[u32], lexicon: &Lexicon, gap: &Gap, offsets: &mut Vec<[u32; 2]>) {
        let word = self.text.get(gap.start..gap.end).unwrap_or_default();
        let mut spelled = Vec::with_capacity(2 * word.len());
        for (index, byte) in word.iter().enumerate() {
            let bytes = if (0x21..=0x7e).contains(byte) { 1 } else { 2 };
            spelled.extend(std::iter::repeat_n(index, bytes));
        }
        let leads = |end: usize| {
            let leads = word.get(..end).unwrap_or_default().iter().filter(|&&byte| is_lead(byte)).count();
            self.leads + u32::try_from(leads).unwrap_or_default()
        };
        let mut start = 0;
        for &id in ids {
            let end = start + lexicon.token(id).map_or(0, str::len);
            let at = |place: usize| spelled.get(place).copied().unwrap_or_default();
            let (first, last) = (at(start), at(end.saturating_sub(1)));
            let characters = [leads(first + 1) - 1, leads(last + 1)];
            offsets.push(self.range(characters, gap.start + first, gap.start + last + 1));
            start = end;
        }
        self.leads = leads(word.len());
        self.byte = gap.end;
    }
}

fn is_lead(byte: u8) -> bool {
    byte & 0xc0 != 0x80
}
