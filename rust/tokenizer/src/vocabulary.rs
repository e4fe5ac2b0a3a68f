//! The bytes that each token id stands for, read off a tokenizer once.

use crate::{Tokenizer, byte_level};

const KNOWN: u8 = 1;
const ADDED: u8 = 2;
const SPECIAL: u8 = 4;
const BYTE: u8 = 8;

/// How the bytes of a sequence of ids become text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decoding {
    /// The bytes of all tokens, one after another, are UTF-8.
    ByteLevel,
    /// Each token is text of its own, but for byte tokens, which join with their neighbours to characters.
    /// `strip` blanks are taken off the start of a sequence.
    Pieces { strip: usize },
    /// Only the `tokenizers` library's decoder knows: a token's text depends on its neighbours.
    Generic,
}

/// Bytes of a token that its entry holds. Nearly all tokens fit.
const INLINE: usize = 14;
/// Bytes of an entry.
const ENTRY: usize = 16;
/// Ids whose bytes are put together before they are appended.
const BLOCK: usize = 64;

/// What is known of an id, in one piece so that a look-up is one memory access: the token's bytes, their count, and
/// flags. The entry of a token with more bytes, or of a special one, holds the place of its bytes among
/// [`Vocabulary::long`].
#[derive(Debug, Clone, Copy)]
struct Entry([u8; ENTRY]);

impl Entry {
    fn new(bytes: &[u8], flags: u8, long: &mut Vec<u8>) -> Self {
        let mut entry = [0; ENTRY];
        if bytes.len() <= INLINE && flags & SPECIAL == 0 {
            entry[..bytes.len()].copy_from_slice(bytes);
            entry[INLINE] = u8::try_from(bytes.len()).unwrap_or(u8::MAX);
        } else {
            let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX).to_le_bytes();
            entry[..4].copy_from_slice(&place(long.len()));
            entry[4..8].copy_from_slice(&place(long.len() + bytes.len()));
            entry[INLINE] = u8::MAX;
            long.extend_from_slice(bytes);
        }
        entry[INLINE + 1] = flags;
        Self(entry)
    }

    /// How many bytes the entry holds; more than [`INLINE`] for a token whose bytes are elsewhere.
    fn length(&self) -> usize {
        usize::from(self.0[INLINE])
    }

    fn flags(&self) -> u8 {
        self.0[INLINE + 1]
    }

    fn place(&self) -> std::ops::Range<usize> {
        let number = |from: usize| self.0[from..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        number(0) as usize..number(4) as usize
    }
}

/// The vocabulary of a tokenizer.
pub struct Vocabulary {
    entries: Box<[Entry]>,
    /// The bytes of tokens whose entries do not hold them.
    long: Box<[u8]>,
    decoding: Decoding,
    fingerprint: u64,
}

impl Vocabulary {
    /// Reads the vocabulary of a tokenizer.
    #[must_use]
    pub fn new(tokenizer: &Tokenizer) -> Self {
        let decoding = decoding(tokenizer);
        let added = tokenizer.added_tokens();
        let size = tokenizer.vocab_size();
        let (mut arena, mut ends, mut flags) =
            (Vec::new(), Vec::with_capacity(size), Vec::with_capacity(size));
        for id in 0..u32::try_from(size).unwrap_or(u32::MAX) {
            let mut flag = 0;
            if let Some(token) = tokenizer.token(id) {
                flag |= KNOWN;
                if let Ok(place) = added.binary_search_by_key(&id, |(id, _)| *id) {
                    let added = &added[place].1;
                    flag |= ADDED | if added.special { SPECIAL } else { 0 };
                }
                match decoding {
                    Decoding::ByteLevel => byte_level::decode(&token, &mut arena),
                    Decoding::Pieces { .. } => match byte_of(&token) {
                        Some(byte) => {
                            flag |= BYTE;
                            arena.push(byte);
                        }
                        None => arena.extend_from_slice(token.replace('\u{2581}', " ").as_bytes()),
                    },
                    Decoding::Generic => arena.extend_from_slice(token.as_bytes()),
                }
            }
            flags.push(flag);
            ends.push(u32::try_from(arena.len()).unwrap_or(u32::MAX));
        }
        let fingerprint = fingerprint(&arena, &ends, &flags);
        let (mut start, mut long) = (0, Vec::new());
        let entries = ends.iter().zip(&flags).map(|(&end, &flags)| {
            let bytes = &arena[std::mem::replace(&mut start, end as usize)..end as usize];
            Entry::new(bytes, flags, &mut long)
        });
        Self { entries: entries.collect(), long: long.into(), decoding, fingerprint }
    }

    /// One more than the highest id.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no ids.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The bytes of an id, none for an id that the tokenizer does not know. With [`Decoding::Generic`] they are
    /// those of the vocabulary's own string.
    #[must_use]
    pub fn bytes(&self, id: u32) -> &[u8] {
        let Some(entry) = self.entries.get(id as usize) else { return &[] };
        entry.0[..INLINE].get(..entry.length()).unwrap_or_else(|| &self.long[entry.place()])
    }

    /// Appends the bytes of the ids before the first special token, one after another, and tells their count.
    pub fn append_ordinary(&self, ids: &[u32], out: &mut Vec<u8>) -> usize {
        let mut block = [0; BLOCK * ENTRY];
        for (index, ids) in ids.chunks(BLOCK).enumerate() {
            let mut at = 0;
            for (place, &id) in ids.iter().enumerate() {
                let Some(entry) = self.entries.get(id as usize) else { continue };
                if entry.length() > INLINE {
                    out.extend_from_slice(&block[..at]);
                    if entry.flags() & SPECIAL != 0 {
                        return index * BLOCK + place;
                    }
                    out.extend_from_slice(&self.long[entry.place()]);
                    at = 0;
                    continue;
                }
                // A copy of fixed length is one instruction; the next token overwrites what is too much.
                block[at..at + ENTRY].copy_from_slice(&entry.0);
                at += entry.length();
            }
            out.extend_from_slice(&block[..at]);
        }
        ids.len()
    }

    /// Whether the tokenizer knows an id.
    #[must_use]
    pub fn is_known(&self, id: u32) -> bool {
        self.has(id, KNOWN)
    }

    /// Whether an id is an added token, special or not.
    #[must_use]
    pub fn is_added(&self, id: u32) -> bool {
        self.has(id, ADDED)
    }

    /// Whether an id is a special token, which `skip_special_tokens` leaves out.
    #[must_use]
    pub fn is_special(&self, id: u32) -> bool {
        self.has(id, SPECIAL)
    }

    /// How many ids stand before the first special token.
    #[must_use]
    pub fn ordinary(&self, ids: &[u32]) -> usize {
        ids.iter().position(|&id| self.is_special(id)).unwrap_or(ids.len())
    }

    /// Whether an id is a byte-fallback token, such as `<0x0A>`.
    #[must_use]
    pub fn is_byte(&self, id: u32) -> bool {
        self.has(id, BYTE)
    }

    /// How bytes become text.
    #[must_use]
    pub fn decoding(&self) -> Decoding {
        self.decoding
    }

    /// A number that two vocabularies share only if they are the same.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    fn has(&self, id: u32, flag: u8) -> bool {
        self.entries.get(id as usize).is_some_and(|entry| entry.flags() & flag != 0)
    }
}

/// The byte of a byte-fallback token.
fn byte_of(token: &str) -> Option<u8> {
    let digits = token.strip_prefix("<0x")?.strip_suffix('>')?;
    if digits.len() == 2 { u8::from_str_radix(digits, 16).ok() } else { None }
}

/// Reads off the tokenizer's decoder which of the three kinds it is.
fn decoding(tokenizer: &Tokenizer) -> Decoding {
    let decoder = tokenizer.decoder().and_then(|decoder| serde_json::to_value(decoder).ok());
    let Some(decoder) = decoder else { return Decoding::Generic };
    let steps = match decoder.get("decoders").and_then(serde_json::Value::as_array) {
        Some(steps) => steps.clone(),
        None => vec![decoder],
    };
    let kind = |step: &serde_json::Value| step["type"].as_str().unwrap_or_default().to_owned();
    if let [only] = steps.as_slice() {
        return match kind(only).as_str() {
            "ByteLevel" => Decoding::ByteLevel,
            "Metaspace" if only["replacement"] == "\u{2581}" => {
                Decoding::Pieces { strip: usize::from(only["prepend_scheme"] != "never") }
            }
            _ => Decoding::Generic,
        };
    }
    let mut strip = 0;
    for step in &steps {
        match kind(step).as_str() {
            "Replace" if step["pattern"]["String"] == "\u{2581}" && step["content"] == " " => {}
            "ByteFallback" | "Fuse" => {}
            "Strip" if step["content"] == " " && step["stop"] == 0 => {
                let blanks = step["start"].as_u64().and_then(|blanks| usize::try_from(blanks).ok());
                strip = blanks.unwrap_or_default();
            }
            _ => return Decoding::Generic,
        }
    }
    let has = |name: &str| steps.iter().any(|step| kind(step) == name);
    if has("Replace") && has("ByteFallback") { Decoding::Pieces { strip } } else { Decoding::Generic }
}

/// FNV-1a over all that decides a decode: the same on every machine and in every build.
fn fingerprint(arena: &[u8], ends: &[u32], flags: &[u8]) -> u64 {
    let bytes = arena
        .iter()
        .copied()
        .chain(ends.iter().flat_map(|end| end.to_le_bytes()))
        .chain(flags.iter().copied());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
