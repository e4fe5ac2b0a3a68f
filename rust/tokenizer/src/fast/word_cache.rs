//! The ids of words seen lately.
//!
//! A table of fixed size in which each word has one place, so that no input makes it grow or degenerate: at worst a
//! word is merged again.

use ahash::RandomState;

/// Places for short words: 32 bytes each.
const SHORT_PLACES: usize = 1 << 15;
/// Places for other words.
const LONG_PLACES: usize = 1 << 12;
/// The longest word that goes into a short place, in bytes.
pub const SHORT_BYTES: usize = 15;
/// The longest word that is kept at all, in bytes.
const LONG_BYTES: usize = 192;
/// The most ids of a short place.
const SHORT_IDS: usize = 4;

/// A word of up to 15 bytes with its length in the lowest four bits of the last byte, and how many ids it has above.
#[derive(Clone, Copy)]
struct Short {
    key: u128,
    ids: [u32; SHORT_IDS],
}

#[derive(Clone, Default)]
struct Long {
    word: Box<[u8]>,
    ids: Box<[u32]>,
}

/// Marks a part of a word, where that may encode otherwise than a word would.
pub const PART: u128 = 1 << 127;

/// The bits of a short key that hold the number of ids.
const COUNT: u128 = 0x70 << 120;

/// A bounded map from words to ids.
pub struct WordCache {
    short: Box<[Short]>,
    long: Box<[Long]>,
    hasher: RandomState,
}

/// Where a word would be.
#[derive(Clone, Copy)]
pub enum Place {
    /// In the short table, by this key.
    Short { key: u128, index: usize },
    /// In the long one.
    Long { index: usize },
    /// Too long.
    Nowhere,
}

impl WordCache {
    /// An empty cache.
    pub fn new() -> Self {
        Self {
            short: vec![Short { key: 0, ids: [0; SHORT_IDS] }; SHORT_PLACES].into(),
            long: vec![Long::default(); LONG_PLACES].into(),
            hasher: RandomState::new(),
        }
    }

    /// Appends the ids of the word `text[start..end]`, or tells where they would be.
    ///
    /// `mark` is [`PART`] or 0.
    #[inline]
    pub fn get(
        &self,
        text: &[u8],
        (start, end): (usize, usize),
        mark: u128,
        ids: &mut Vec<u32>,
    ) -> Result<(), Place> {
        let length = end - start;
        if length > SHORT_BYTES {
            return self.get_long(&text[start..end], mark, ids);
        }
        let key = key(text, start, length) | mark;
        let index = index(key);
        let found = &self.short[index];
        let difference = found.key ^ key;
        if difference & !COUNT != 0 || difference == 0 {
            return Err(Place::Short { key, index });
        }
        let count = (difference >> 124) as usize & 7;
        let Some(found) = found.ids.get(..count) else { return Err(Place::Short { key, index }) };
        ids.extend_from_slice(found);
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn get_long(&self, word: &[u8], mark: u128, ids: &mut Vec<u32>) -> Result<(), Place> {
        if word.len() > LONG_BYTES || mark != 0 {
            return Err(Place::Nowhere);
        }
        #[expect(clippy::cast_possible_truncation, reason = "only the low bits count")]
        let index = self.hasher.hash_one(word) as usize % LONG_PLACES;
        let found = &self.long[index];
        if *found.word == *word {
            ids.extend_from_slice(&found.ids);
            return Ok(());
        }
        Err(Place::Long { index })
    }

    /// Keeps the ids of a word at the place that [`Self::get`] told, in place of what was there.
    pub fn put(&mut self, place: Place, word: &[u8], ids: &[u32]) {
        match place {
            Place::Short { key, index } if (1..=SHORT_IDS).contains(&ids.len()) => {
                let mut kept = [0; SHORT_IDS];
                kept[..ids.len()].copy_from_slice(ids);
                self.short[index] = Short { key: key | (ids.len() as u128) << 124, ids: kept };
            }
            Place::Long { index } if !ids.is_empty() => {
                self.long[index] = Long { word: word.into(), ids: ids.into() };
            }
            _ => {}
        }
    }
}

/// The bytes of a word of up to 15 bytes and its length, as one number.
#[inline]
fn key(text: &[u8], start: usize, length: usize) -> u128 {
    let bytes = if let Some(bytes) = text.get(start..start + 16) {
        <[u8; 16]>::try_from(bytes).unwrap_or_default()
    } else {
        let mut bytes = [0; 16];
        bytes[..length].copy_from_slice(&text[start..start + length]);
        bytes
    };
    let kept = u128::from_le_bytes(bytes) & ((1 << (8 * length)) - 1);
    kept | (length as u128) << 120
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "a hash may lose bits")]
fn index(key: u128) -> usize {
    let (low, high) = (key as u64, (key >> 64) as u64);
    let mixed = (low ^ high.rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ high;
    (mixed.wrapping_mul(0xd6e8_feb8_6659_fd93) >> 49) as usize % SHORT_PLACES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_whole_and_never_mistaken() {
        let mut cache = WordCache::new();
        let mut ids = Vec::new();
        let text =
            "the quick brown\0\0 fox jumps over the lazy dog, which is a text of some length".as_bytes();
        for start in 0..text.len() {
            for end in start + 1..text.len() {
                let expected = [u32::try_from(start).unwrap(), u32::try_from(end).unwrap(), 7];
                let place = cache.get(text, (start, end), 0, &mut ids);
                // The same bytes elsewhere in the text are the same word.
                if let Err(place) = place {
                    cache.put(place, &text[start..end], &expected);
                    assert!(cache.get(text, (start, end), 0, &mut ids).is_ok());
                    assert_eq!(ids, expected);
                } else {
                    let (from, to) = (ids[0] as usize, ids[1] as usize);
                    assert_eq!(text[from..to], text[start..end]);
                }
                ids.clear();
            }
        }
    }

    #[test]
    fn a_part_is_not_a_word() {
        let mut cache = WordCache::new();
        let mut ids = Vec::new();
        let place = cache.get(b"word", (0, 4), PART, &mut ids).unwrap_err();
        cache.put(place, b"word", &[1, 2]);
        assert!(cache.get(b"word", (0, 4), PART, &mut ids).is_ok());
        assert!(cache.get(b"word", (0, 4), 0, &mut ids).is_err());
        assert_eq!(ids, [1, 2]);
    }

    #[test]
    fn nothing_is_kept_of_words_that_do_not_fit() {
        let mut cache = WordCache::new();
        let mut ids = Vec::new();
        let place = cache.get(b"word", (0, 4), 0, &mut ids).unwrap_err();
        cache.put(place, b"word", &[1; 5]);
        cache.put(place, b"word", &[]);
        assert!(cache.get(b"word", (0, 4), 0, &mut ids).is_err());
        assert!(matches!(cache.get(&[b'a'; 500], (0, 500), 0, &mut ids), Err(Place::Nowhere)));
    }
}
