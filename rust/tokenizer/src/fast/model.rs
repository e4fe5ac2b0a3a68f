//! A BPE model: words to ids.

use super::bpe::MergeBuffers;
use super::cutter::{BLANK, Cutter};
use super::lexicon::Lexicon;
use super::merges::Merges;
use super::offsets::{BYTE_TOKEN, Gap};
use super::word_cache::{PART, Place, SHORT_BYTES, WordCache};
use crate::byte_level;
use crate::pretokenize::Splitter;
use crate::pretokenize::classes::code_point;

/// No token.
pub const NO_TOKEN: u32 = u32::MAX;

/// What a word's first symbols are.
pub enum Alphabet {
    /// A token for each byte, or [`NO_TOKEN`] for those that are left out.
    Bytes {
        /// By byte.
        ids: Box<[u32; 256]>,
        /// Whether all bytes have a token.
        complete: bool,
        /// How text is cut into words.
        splitter: Option<Splitter>,
    },
    /// A token for each character; a character without one is spelled in byte tokens.
    Pieces {
        /// By byte.
        bytes: Box<[u32; 256]>,
        /// By ASCII character; a blank's is that of `▁`. [`NO_TOKEN`] where there is none.
        ascii: Box<[u32; 128]>,
    },
}

/// A BPE model.
pub struct Model {
    /// The vocabulary.
    pub lexicon: Lexicon,
    /// The merges.
    pub merges: Merges,
    /// The token of each character below U+10000 that is the first symbol for it: see [`Model::set_characters`].
    pub characters: Box<[u32]>,
    /// Where no merge reaches across.
    pub cutter: Cutter,
    /// The first symbols.
    pub alphabet: Alphabet,
    /// Whether a word that is a token is that token, whatever the merges say.
    pub whole_words: bool,
    /// The tokens' lengths, by id: in bytes, or in characters (byte tokens: [`BYTE_TOKEN`] and the byte).
    pub widths: Box<[u16]>,
}

/// What a thread needs to encode: buffers and a cache of its own.
pub struct Scratch {
    cache: WordCache,
    buffers: MergeBuffers,
    spelled: String,
}

impl Scratch {
    /// Empty.
    pub fn new() -> Self {
        Self { cache: WordCache::new(), buffers: MergeBuffers::default(), spelled: String::new() }
    }
}

impl Model {
    /// Appends the ids of a text without added tokens, as it is after normalisation. With `gaps`, words with bytes
    /// left out are noted there.
    pub fn encode(
        &self,
        text: &[u8],
        scratch: &mut Scratch,
        ids: &mut Vec<u32>,
        gaps: Option<&mut Vec<Gap>>,
    ) {
        match &self.alphabet {
            Alphabet::Bytes { ids: bytes, complete, splitter } => match gaps {
                Some(gaps) if !complete => self.encode_noting_gaps(text, scratch, ids, gaps),
                _ => {
                    let word = |start, end| {
                        if end - start == 1 && bytes[text[start] as usize] != NO_TOKEN {
                            ids.push(bytes[text[start] as usize]);
                        } else {
                            self.word(text, start, end, scratch, ids);
                        }
                    };
                    split(*splitter, text, word);
                }
            },
            Alphabet::Pieces { .. } => {
                self.cutter.split(text, |start, end| self.word(text, start, end, scratch, ids));
            }
        }
    }

    fn encode_noting_gaps(
        &self,
        text: &[u8],
        scratch: &mut Scratch,
        ids: &mut Vec<u32>,
        gaps: &mut Vec<Gap>,
    ) {
        let Alphabet::Bytes { ids: bytes, splitter, .. } = &self.alphabet else { return };
        let from = ids.len();
        split(*splitter, text, |start, end| {
            let first = ids.len() - from;
            self.word(text, start, end, scratch, ids);
            if text[start..end].iter().any(|&byte| bytes[byte as usize] == NO_TOKEN) {
                gaps.push(Gap { first, last: ids.len() - from, start, end });
            }
        });
    }

    #[inline]
    fn word(&self, text: &[u8], start: usize, end: usize, scratch: &mut Scratch, ids: &mut Vec<u32>) {
        if end - start > SHORT_BYTES && matches!(self.alphabet, Alphabet::Bytes { .. }) {
            self.long_word(&text[start..end], scratch, ids);
        } else if let Err(place) = scratch.cache.get(text, (start, end), 0, ids) {
            self.merge(&text[start..end], self.whole_words, place, scratch, ids);
        }
    }

    /// A long word of a byte-level model, cut where no merge reaches across: in scripts without blanks, whole clauses
    /// are words, which do not come again, but their parts do.
    fn long_word(&self, word: &[u8], scratch: &mut Scratch, ids: &mut Vec<u32>) {
        let mark = if self.whole_words { PART } else { 0 };
        self.cutter.split(word, |start, end| {
            // No token goes across a cut, so what is cut is not a token as a whole.
            let (mark, whole_words) =
                if end - start == word.len() { (0, self.whole_words) } else { (mark, false) };
            if let Err(place) = scratch.cache.get(word, (start, end), mark, ids) {
                self.merge(&word[start..end], whole_words, place, scratch, ids);
            }
        });
    }

    #[inline(never)]
    fn merge(&self, word: &[u8], whole_words: bool, place: Place, scratch: &mut Scratch, ids: &mut Vec<u32>) {
        let Scratch { cache, buffers, spelled } = scratch;
        if whole_words && let Some(id) = self.whole_word(word, spelled) {
            cache.put(place, word, &[id]);
            ids.push(id);
            return;
        }
        buffers.symbols.clear();
        match &self.alphabet {
            Alphabet::Bytes { ids: bytes, .. } => {
                self.spell_bytes(word, bytes, &mut buffers.symbols);
            }
            Alphabet::Pieces { bytes, ascii } => self.spell(word, bytes, ascii, &mut buffers.symbols),
        }
        buffers.run(&self.merges);
        cache.put(place, word, &buffers.symbols);
        ids.extend_from_slice(&buffers.symbols);
        if buffers.symbols.capacity() > 1 << 16 {
            buffers.symbols = Vec::new();
        }
    }

    /// The token that a byte-level word is.
    fn whole_word(&self, word: &[u8], spelled: &mut String) -> Option<u32> {
        spelled.clear();
        spelled.extend(word.iter().map(|&byte| character_of(byte)));
        self.lexicon.id(spelled)
    }

    /// The first symbols of a byte-level word, without the bytes that have none.
    fn spell_bytes(&self, word: &[u8], bytes: &[u32; 256], symbols: &mut Vec<u32>) {
        let mut place = 0;
        while place < word.len() {
            let (code, length) = code_point(word, place);
            let end = place + length;
            if code >= 0x80
                && let Some(&id) = self.characters.get(code as usize)
            {
                let joins = |start: usize, end: usize| match (word.get(start), word.get(end)) {
                    (Some(&last), Some(&first)) => self.cutter.joins_partly(last, first),
                    _ => false,
                };
                if id != NO_TOKEN && !joins(place.wrapping_sub(1), place) && !joins(end - 1, end) {
                    symbols.push(id);
                    place = end;
                    continue;
                }
            }
            let part = word.get(place..end).unwrap_or(&word[place..]);
            symbols.extend(part.iter().map(|&byte| bytes[byte as usize]).filter(|&id| id != NO_TOKEN));
            place = end;
        }
    }

    /// Finds the characters whose bytes always become one token before they merge with what is around them, so that
    /// words may be spelled with that token.
    ///
    /// Such a character's bytes must merge to it on their own, and no token may have a part of it beside something
    /// else, which [`Self::spell_bytes`] asks for each place. Merges must be ordered: then they are done in the order
    /// of their ranks, and whether the token is there early makes no difference to those of later ranks.
    pub fn set_characters(&mut self, made: &[Option<u32>]) {
        let Alphabet::Bytes { ids: bytes, .. } = &self.alphabet else {
            self.characters = vec![NO_TOKEN; 1 << 16].into();
            for (id, token) in self.lexicon.iter() {
                let mut characters = token.chars();
                if let (Some(character), None) = (characters.next(), characters.next())
                    && let Some(found) = self.characters.get_mut(character as usize)
                {
                    *found = id;
                }
            }
            return;
        };
        if !self.merges.are_ordered(made) {
            return;
        }
        let mut characters: Box<[u32]> = vec![NO_TOKEN; 1 << 16].into();
        let (mut buffers, mut text) = (MergeBuffers::default(), Vec::new());
        // A character of n bytes has as many characters in the byte-level alphabet.
        for (id, token) in self.lexicon.iter().filter(|(id, _)| matches!(self.widths[*id as usize], 2 | 3)) {
            text.clear();
            byte_level::decode(token, &mut text);
            let (code, length) = code_point(&text, 0);
            if code < 0x80 || length != text.len() || std::str::from_utf8(&text).is_err() {
                continue;
            }
            buffers.symbols.clear();
            buffers.symbols.extend(text.iter().map(|&byte| bytes[byte as usize]));
            buffers.run(&self.merges);
            if let ([only], Some(found)) = (buffers.symbols.as_slice(), characters.get_mut(code as usize))
                && *only == id
            {
                *found = id;
            }
        }
        self.characters = characters;
    }

    /// The first symbols of a SentencePiece word.
    fn spell(&self, word: &[u8], bytes: &[u32; 256], ascii: &[u32; 128], symbols: &mut Vec<u32>) {
        let mut place = 0;
        while place < word.len() {
            let (code, length) = code_point(word, place);
            let part = word.get(place..place + length).unwrap_or(&word[place..]);
            place += length;
            let id = match ascii.get(code as usize) {
                Some(&id) => id,
                None if code < 0x1_0000 => self.characters.get(code as usize).copied().unwrap_or(NO_TOKEN),
                None => {
                    std::str::from_utf8(part).ok().and_then(|part| self.lexicon.id(part)).unwrap_or(NO_TOKEN)
                }
            };
            if id == NO_TOKEN {
                symbols.extend(part.iter().map(|&byte| bytes[byte as usize]));
            } else {
                symbols.push(id);
            }
        }
    }
}

#[inline]
fn split(splitter: Option<Splitter>, text: &[u8], mut word: impl FnMut(usize, usize)) {
    match splitter {
        Some(splitter) => splitter.split(text, word),
        None if text.is_empty() => {}
        None => word(0, text.len()),
    }
}

/// The character by which the byte-level alphabet writes a byte.
pub fn character_of(byte: u8) -> char {
    match byte {
        0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff => char::from(byte),
        0..=0x20 => offset_character(u32::from(byte)),
        0x7f..=0xa0 => offset_character(u32::from(byte) - 0x7f + 0x21),
        0xad => offset_character(0x43),
    }
}

fn offset_character(offset: u32) -> char {
    char::from_u32(0x100 + offset).unwrap_or_default()
}

/// A byte-fallback token's text, such as `<0x0A>`.
pub fn byte_token(byte: u8) -> String {
    format!("<0x{byte:02X}>")
}

/// The tokens' lengths in characters, by id: what a byte-level token has in bytes, and a piece in characters. None
/// where a token is too long to be told.
pub fn widths(lexicon: &Lexicon) -> Option<Box<[u16]>> {
    let mut widths = vec![0; lexicon.bound()];
    for (id, token) in lexicon.iter() {
        let width = u16::try_from(token.chars().count()).ok()?;
        if width >= BYTE_TOKEN {
            return None;
        }
        widths[id as usize] = width;
    }
    Some(widths.into())
}

/// The token of a character, a blank's being that of `▁`.
pub fn piece(lexicon: &Lexicon, character: char) -> u32 {
    let character = if character == ' ' { BLANK } else { character };
    lexicon.id(character.encode_utf8(&mut [0; 4])).unwrap_or(NO_TOKEN)
}
