//! Text to ids: added tokens, then segments, then words.

use std::sync::{Mutex, PoisonError};

use super::added_tokens::{AddedToken, Finder, Part, whole};
use super::config::{Config, Normalizer, Prefix};
use super::cutter::BLANK;
use super::file::TokenizerFile;
use super::lexicon::Lexicon;
use super::model::{Alphabet, Model, Scratch};
use super::normalize::{is_nfc, nfc};
use super::offsets::{Encoded, Gap, Places, byte_level, pieces};
use super::postprocess::Around;
use super::segment_cache::{SHORTEST, Segment, SegmentCache};
use crate::{Encode, Encoding, Error};

/// Scratches that are kept for the next call; more threads than that at a time make new ones.
const KEPT_SCRATCHES: usize = 16;

/// An encoder of a known kind of tokenizer.
pub struct FastEncoder {
    model: Model,
    normalizer: Normalizer,
    prefix: Prefix,
    around: Around,
    added_tokens: Vec<(u32, AddedToken)>,
    /// Of added tokens in the text as it is.
    plain: Option<Finder>,
    /// Of added tokens in the normalised text.
    normalized: Option<Finder>,
    segments: SegmentCache,
    scratches: Mutex<Vec<Buffers>>,
}

/// What a call needs.
struct Buffers {
    scratch: Scratch,
    parts: Vec<Part>,
    inner_parts: Vec<Part>,
    gaps: Vec<Gap>,
    prefixed: String,
}

/// What a call makes.
struct Output {
    ids: Vec<u32>,
    offsets: Option<Vec<[u32; 2]>>,
}

/// How many code points there are up to a place that moves through a text.
struct Counter<'t> {
    text: &'t str,
    byte: usize,
    count: u32,
}

impl Counter<'_> {
    fn at(&mut self, byte: usize) -> u32 {
        let count = |start: usize, end: usize| {
            let text = self.text.get(start..end).unwrap_or_default();
            u32::try_from(text.chars().count()).unwrap_or_default()
        };
        if byte >= self.byte {
            self.count += count(self.byte, byte);
        } else {
            self.count -= count(byte, self.byte);
        }
        self.byte = byte;
        self.count
    }
}

impl FastEncoder {
    /// Reads a tokenizer's file; none for a kind that is not known here. At most about `cache_bytes` bytes of
    /// encoded text are kept.
    pub fn read(file: &TokenizerFile<'_>, cache_bytes: usize) -> Option<Self> {
        let Config { model, normalizer, prefix, around, added_tokens } = Config::read(file)?;
        let finder = |normalized: bool| {
            let tokens = added_tokens.iter().filter(|(_, token)| token.normalized == normalized);
            Finder::new(tokens.cloned().collect()).ok()
        };
        let (plain, normalized) = (finder(false)?, finder(true)?);
        Some(Self {
            model,
            normalizer,
            prefix,
            around,
            added_tokens,
            plain,
            normalized,
            segments: SegmentCache::new(cache_bytes),
            scratches: Mutex::new(Vec::new()),
        })
    }

    /// The model's vocabulary.
    pub fn lexicon(&self) -> &Lexicon {
        &self.model.lexicon
    }

    /// The added tokens with their ids.
    pub fn added_tokens(&self) -> &[(u32, AddedToken)] {
        &self.added_tokens
    }

    /// Whether the offsets are those that `tokenizers` gives.
    pub fn knows_offsets(&self) -> bool {
        !self.around.trims_offsets
    }

    fn buffers(&self) -> Buffers {
        let kept = self.scratches.lock().unwrap_or_else(PoisonError::into_inner).pop();
        kept.unwrap_or_else(|| Buffers {
            scratch: Scratch::new(),
            parts: Vec::new(),
            inner_parts: Vec::new(),
            gaps: Vec::new(),
            prefixed: String::new(),
        })
    }

    fn put_back(&self, buffers: Buffers) {
        let mut kept = self.scratches.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < KEPT_SCRATCHES {
            kept.push(buffers);
        }
    }

    fn text(&self, text: &str, buffers: &mut Buffers, output: &mut Output) {
        let mut parts = std::mem::take(&mut buffers.parts);
        find(self.plain.as_ref(), text, &mut parts);
        let mut counter = Counter { text, byte: 0, count: 0 };
        for &(id, start, end) in &parts {
            let base = if output.offsets.is_some() { counter.at(start) } else { 0 };
            match id {
                Some(id) => {
                    output.ids.push(id);
                    if let Some(offsets) = &mut output.offsets {
                        offsets.push([base, counter.at(end)]);
                    }
                }
                None => self.segment(&text[start..end], start == 0, base, buffers, output),
            }
        }
        parts.clear();
        buffers.parts = parts;
    }

    /// A stretch between added tokens, from the cache where it is known.
    fn segment(&self, text: &str, first: bool, base: u32, buffers: &mut Buffers, output: &mut Output) {
        // What stands first may get a blank in front that it does not get elsewhere.
        let cached = text.len() >= SHORTEST && !(first && self.prefix == Prefix::FirstIfAbsent);
        if !cached {
            self.normalize(text, first, base, buffers, output);
            return;
        }
        if let Some(segment) = self.segments.get(text, output.offsets.is_some()) {
            output.ids.extend_from_slice(&segment.ids);
            if let (Some(offsets), Some(found)) = (&mut output.offsets, &segment.offsets) {
                offsets.extend(found.iter().map(|[start, end]| [start + base, end + base]));
            }
            return;
        }
        let from = output.ids.len();
        self.normalize(text, first, base, buffers, output);
        let offsets = output
            .offsets
            .as_ref()
            .map(|offsets| offsets[from..].iter().map(|[start, end]| [start - base, end - base]).collect());
        self.segments.put(Segment { text: text.into(), ids: output.ids[from..].into(), offsets });
    }

    /// Normalises, and looks for the added tokens that are found in normalised text.
    fn normalize(&self, text: &str, first: bool, base: u32, buffers: &mut Buffers, output: &mut Output) {
        if self.normalizer == Normalizer::None || is_nfc(text) {
            self.normalized(text, None, first, base, buffers, output);
        } else {
            let mapped = nfc(text);
            self.normalized(&mapped.text, Some(&mapped.places), first, base, buffers, output);
        }
    }

    fn normalized(
        &self,
        text: &str,
        places: Option<&[[u32; 2]]>,
        first: bool,
        base: u32,
        buffers: &mut Buffers,
        output: &mut Output,
    ) {
        if self.normalized.is_none() {
            self.words(text, places, first, base, buffers, output);
            return;
        }
        let mut parts = std::mem::take(&mut buffers.inner_parts);
        find(self.normalized.as_ref(), text, &mut parts);
        let mut counter = Counter { text, byte: 0, count: 0 };
        for &(id, start, end) in &parts {
            let places = places.map(|places| &places[start..end]);
            let base =
                if output.offsets.is_none() || places.is_some() { base } else { base + counter.at(start) };
            let Some(id) = id else {
                self.words(&text[start..end], places, first && start == 0, base, buffers, output);
                continue;
            };
            output.ids.push(id);
            if let Some(offsets) = &mut output.offsets {
                offsets.push(match places {
                    Some([one]) => [base + one[0], base + one[1]],
                    Some([one, .., other]) => [base + one[0], base + other[1]],
                    _ => [base, base + counter.at(end) - counter.at(start)],
                });
            }
        }
        parts.clear();
        buffers.inner_parts = parts;
    }

    /// A stretch without added tokens.
    fn words(
        &self,
        text: &str,
        places: Option<&[[u32; 2]]>,
        first: bool,
        base: u32,
        buffers: &mut Buffers,
        output: &mut Output,
    ) {
        let byte_level_alphabet = matches!(self.model.alphabet, Alphabet::Bytes { .. });
        let begins_blank = text.starts_with(' ') || (!byte_level_alphabet && text.starts_with(BLANK));
        let prefixed = match self.prefix {
            Prefix::Never => false,
            Prefix::Always => true,
            Prefix::IfAbsent => !begins_blank,
            Prefix::FirstIfAbsent => first && !begins_blank,
        };
        let Buffers { scratch, gaps, prefixed: buffer, .. } = buffers;
        let mut shifted_places = Vec::new();
        let (text, places) = match (prefixed, places) {
            (false, None) => (text, Places::Same),
            (false, Some(places)) => (text, Places::Mapped(places)),
            (true, places) => {
                buffer.clear();
                buffer.push(' ');
                buffer.push_str(text);
                match places {
                    None => (buffer.as_str(), Places::Shifted),
                    Some(places) => {
                        shifted_places.extend(places.first().into_iter().chain(places));
                        (buffer.as_str(), Places::Mapped(&shifted_places))
                    }
                }
            }
        };
        let from = output.ids.len();
        gaps.clear();
        let noted = output.offsets.is_some().then_some(&mut *gaps);
        self.model.encode(text.as_bytes(), scratch, &mut output.ids, noted);
        if let Some(offsets) = &mut output.offsets {
            let encoded = Encoded { text: text.as_bytes(), places, ids: &output.ids[from..], gaps, base };
            match self.model.alphabet {
                Alphabet::Bytes { .. } => {
                    byte_level(&encoded, &self.model.widths, &self.model.lexicon, offsets);
                }
                Alphabet::Pieces { .. } => pieces(&encoded, &self.model.widths, offsets),
            }
        }
        if buffer.capacity() > 1 << 16 {
            *buffer = String::new();
        }
    }
}

fn find(finder: Option<&Finder>, text: &str, parts: &mut Vec<Part>) {
    match finder {
        Some(finder) => finder.split(text, parts),
        None => whole(text, parts),
    }
}

impl Encode for FastEncoder {
    fn encode(&self, text: &str, add_special_tokens: bool, offsets: bool) -> Result<Encoding, Error> {
        if u32::try_from(text.len()).is_err() {
            return Err(Error::Encode(format!("{} bytes are more than {}", text.len(), u32::MAX)));
        }
        let mut output = Output { ids: Vec::with_capacity(text.len() / 4 + 8), offsets: None };
        if offsets {
            output.offsets = Some(Vec::with_capacity(text.len() / 4 + 8));
        }
        let around = |ids: &[u32], output: &mut Output| {
            if add_special_tokens {
                output.ids.extend_from_slice(ids);
                if let Some(offsets) = &mut output.offsets {
                    offsets.extend(ids.iter().map(|_| [0, 0]));
                }
            }
            if add_special_tokens { ids.len() } else { 0 }
        };
        let mut added_before = around(&self.around.before, &mut output);
        let mut buffers = self.buffers();
        self.text(text, &mut buffers, &mut output);
        self.put_back(buffers);
        let empty = output.ids.len() == added_before;
        let mut added_after = around(&self.around.after, &mut output);
        if empty {
            // With nothing between, all of them are in front.
            (added_before, added_after) = (added_before + added_after, 0);
        }
        Ok(Encoding {
            ids: output.ids,
            offsets: output.offsets.unwrap_or_default(),
            added_before,
            added_after,
        })
    }
}
