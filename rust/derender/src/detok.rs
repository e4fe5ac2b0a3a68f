//! Incremental detokenization: ids to text, with a state of a few bytes that is kept apart from the tokenizer.
//!
//! The streamed text, joined, is the one-shot text, for every way to cut the ids.

use std::sync::Arc;

use dragoman_tokenizer::{Decoding, Tokenizer, Vocabulary};
use serde::{Deserialize, Serialize};

use crate::utf8;

/// Ids that a [`Decoding::Generic`] window holds before text that ends in U+FFFD is taken as it is.
const WINDOW: usize = 16;
/// Ids of the prompt that the window of [`Decoding::Generic`] starts with.
const SEED: usize = 6;

/// Room that is made for the text of an id: most languages need less.
const BYTES_PER_ID: usize = 5;
/// Ids that room is made for at once: special tokens may end each run of text early.
const MOST_IDS: usize = 4096;

/// Turns ids into text.
#[derive(Clone)]
pub struct Detokenizer {
    tokenizer: Arc<Tokenizer>,
    vocabulary: Arc<Vocabulary>,
}

/// What must be remembered between two ids.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Bytes that do not make a character yet: at most 3, or a short run of byte tokens that is not valid so far.
    pending: Vec<u8>,
    /// Blanks that may still be taken off the start of the sequence.
    strip: u8,
    /// The last ids, where only the library's decoder knows their text.
    window: Vec<u32>,
    /// How many ids of the window have their text out.
    known: u8,
}

impl State {
    /// See [`crate::parse::State::is_valid`]: what a window decodes is bounded.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.pending.len() <= utf8::MAX_RUN
            && self.window.len() <= SEED + WINDOW
            && usize::from(self.known) <= self.window.len()
    }
}

impl Detokenizer {
    /// A detokenizer of a tokenizer and its vocabulary.
    #[must_use]
    pub fn new(tokenizer: Arc<Tokenizer>, vocabulary: Arc<Vocabulary>) -> Self {
        Self { tokenizer, vocabulary }
    }

    /// The vocabulary.
    #[must_use]
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// The id of the special token that has this text.
    #[must_use]
    pub fn special_id(&self, text: &str) -> Option<u32> {
        self.tokenizer.id(text).filter(|&id| self.vocabulary.is_special(id))
    }

    /// The state after a prompt. A prompt without text is the start of a sequence, where leading blanks are stripped if the
    /// tokenizer does so; a prompt that ends inside a character leaves its bytes pending.
    #[must_use]
    pub fn start(&self, prompt: &[u32]) -> State {
        let mut state = State::default();
        let tail = &prompt[prompt.len().saturating_sub(SEED)..];
        match self.vocabulary.decoding() {
            Decoding::ByteLevel => {
                let bytes: Vec<u8> = tail.iter().flat_map(|&id| self.vocabulary.bytes(id)).copied().collect();
                state.pending = utf8::incomplete_suffix(&bytes).to_vec();
            }
            Decoding::Pieces { strip } => {
                let has_text =
                    |&id: &u32| !self.vocabulary.is_special(id) && !self.vocabulary.bytes(id).is_empty();
                if !prompt.iter().any(has_text) {
                    state.strip = u8::try_from(strip).unwrap_or(u8::MAX);
                }
                let run = tail.iter().rev().take_while(|&&id| self.vocabulary.is_byte(id)).count();
                let bytes: Vec<u8> = tail[tail.len() - run..]
                    .iter()
                    .flat_map(|&id| self.vocabulary.bytes(id))
                    .copied()
                    .collect();
                state.pending = utf8::incomplete_suffix(&bytes).to_vec();
            }
            Decoding::Generic => {
                // Special tokens are no text, and nothing joins on to them.
                let words = prompt.iter().rev().filter(|&&id| !self.vocabulary.is_special(id));
                state.window = words.take(SEED).copied().collect();
                state.window.reverse();
                state.known = u8::try_from(state.window.len()).unwrap_or(u8::MAX);
            }
        }
        state
    }

    /// Appends to `text` what `id` decides. Special tokens show: who skips them does not push them.
    pub fn push(&self, state: &mut State, id: u32, text: &mut String) {
        match self.vocabulary.decoding() {
            Decoding::ByteLevel => {
                utf8::push(&mut state.pending, self.vocabulary.bytes(id), text);
            }
            Decoding::Pieces { .. } if self.vocabulary.is_byte(id) => {
                state.strip = 0;
                utf8::push_run(&mut state.pending, self.vocabulary.bytes(id), text);
            }
            Decoding::Pieces { .. } => {
                self.flush(state, text);
                let mut piece = self.vocabulary.bytes(id);
                while state.strip > 0 && piece.first() == Some(&b' ') {
                    piece = &piece[1..];
                    state.strip -= 1;
                }
                if !piece.is_empty() {
                    state.strip = 0;
                }
                text.push_str(&String::from_utf8_lossy(piece));
            }
            Decoding::Generic => self.push_generic(state, id, text),
        }
    }

    /// As [`Detokenizer::push`] for the ids before the first special token, one after the other, at the cost of a copy
    /// where ids stand for bytes; tells how many they are.
    pub fn push_ordinary(&self, state: &mut State, ids: &[u32], text: &mut String) -> usize {
        if self.vocabulary.decoding() != Decoding::ByteLevel {
            let count = self.vocabulary.ordinary(ids);
            ids[..count].iter().for_each(|&id| self.push(state, id, text));
            return count;
        }
        let mut bytes = std::mem::take(&mut state.pending);
        bytes.reserve(ids.len().min(MOST_IDS).saturating_mul(BYTES_PER_ID));
        let count = self.vocabulary.append_ordinary(ids, &mut bytes);
        match String::from_utf8(bytes) {
            Ok(more) if text.is_empty() => *text = more,
            Ok(more) => text.push_str(&more),
            Err(error) => utf8::push(&mut state.pending, error.as_bytes(), text),
        }
        count
    }

    /// The text of ids on their own, special tokens included, without stripping.
    #[must_use]
    pub fn text(&self, ids: &[u32]) -> String {
        let (mut state, mut text) = (State::default(), String::new());
        for &id in ids {
            self.push(&mut state, id, &mut text);
        }
        self.flush(&mut state, &mut text);
        text
    }

    /// Appends what is still pending: bytes that never became a character show as U+FFFD.
    pub fn flush(&self, state: &mut State, text: &mut String) {
        match self.vocabulary.decoding() {
            Decoding::ByteLevel => utf8::flush(&mut state.pending, text),
            Decoding::Pieces { .. } => utf8::flush_run(&mut state.pending, text),
            Decoding::Generic => self.release_window(state, text, true),
        }
    }

    /// The output ends: the start of a character that was cut off is left out, as the reference does.
    pub fn finish(&self, state: &mut State, text: &mut String) {
        if utf8::is_start(&state.pending) {
            state.pending.clear();
        }
        self.flush(state, text);
    }

    fn push_generic(&self, state: &mut State, id: u32, text: &mut String) {
        state.window.push(id);
        self.release_window(state, text, false);
    }

    /// Emits the text by which the window grew, unless it ends inside a character.
    fn release_window(&self, state: &mut State, text: &mut String, last: bool) {
        let known = usize::from(state.known).min(state.window.len());
        if known == state.window.len() {
            return;
        }
        // Some of the library's decoders cannot do without a token.
        let decode = |ids: &[u32]| match ids {
            [] => String::new(),
            ids => self.tokenizer.decode(ids, false).unwrap_or_default(),
        };
        let (before, after) = (decode(&state.window[..known]), decode(&state.window));
        let held = state.window.len() - known;
        if after.ends_with('\u{fffd}') && !last && held < WINDOW {
            return;
        }
        text.push_str(after.get(before.len()..).unwrap_or_default());
        state.window.drain(..known);
        state.known = u8::try_from(state.window.len()).unwrap_or(u8::MAX);
    }
}
