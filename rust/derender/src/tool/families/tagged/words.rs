//! The tagged family: what tells its models from another, and the search for their tags.

use std::borrow::Cow;

use super::value::Trim;
use crate::parse::{Build, Segment};

/// What tells one model of the family from another.
#[derive(Debug, Clone, Copy)]
pub struct Spec {
    /// Stands around calls; both empty: nothing does.
    pub wrapper: [&'static str; 2],
    /// Begins a call; its name follows.
    pub call: &'static str,
    pub name: Style,
    pub call_close: &'static str,
    /// Begins a parameter; its key follows.
    pub parameter: &'static str,
    /// How the key is written, and what ends it.
    pub key: Style,
    pub key_close: &'static str,
    /// Stands between key and value; may be empty.
    pub value_open: &'static str,
    pub parameter_close: &'static str,
    /// Words between calls that mean nothing of their own.
    pub filler: &'static [&'static str],
    /// Whether a call may stand without its wrapper.
    pub bare: bool,
    pub trim: Trim,
    /// Whether a single parameter `arguments` or `input` that no schema knows holds all arguments as an object.
    pub unwraps: bool,
    /// See [`crate::tool::ToolParser::is_native_only`].
    pub native_only: bool,
    /// Parts of the tags that are tokens of the model. One that is special matches by its id only.
    pub tokens: &'static [&'static str],
}

/// How a name or key is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Up to `>`, in quotes or not, and perhaps attributes after it.
    Attribute,
    /// Up to the next tag; a name also up to the end of its line.
    Line,
}

/// Special tokens stand in the text as these characters, which no text has: noncharacters and private ones.
const FIRST_TOKEN: u32 = 0x0010_FF00;
const MAX_TOKENS: u32 = 0xFF;

/// A name or key that is longer is none.
pub const MAX_NAME: usize = 128;

/// Blanks behind a closing tag that may stand before the next one.
const MAX_BLANKS: usize = 64;

/// A spec's words as they stand in the text of one vocabulary.
pub struct Words {
    pub wrapper_close: String,
    pub call: String,
    pub call_close: String,
    pub parameter: String,
    pub key_close: String,
    pub value_open: String,
    pub parameter_close: String,
    pub filler: Vec<String>,
    /// What begins a wrapper, or a call without one.
    pub openers: Vec<String>,
    /// What may stand behind a parameter.
    pub landmarks: Vec<String>,
    /// What may stand behind a call.
    after_call: Vec<String>,
    tokens: Vec<(u32, char, &'static str)>,
}

/// Whether a value ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Closes(Closer),
    /// It goes on: the text is the value's.
    Literal,
    /// More text decides.
    Undecided,
}

/// What ends a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closer {
    /// Its own closing tag.
    Parameter,
    /// Another, which is not the value's.
    Next,
}

/// What a search met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// A word, by its place in the list.
    Word(usize),
    /// Text that may become one.
    Part,
    Nothing,
}

impl Words {
    /// Looks the spec's tokens up in the vocabulary.
    #[must_use]
    pub fn new(spec: Spec, build: Build<'_>) -> Self {
        let token = |(&text, place): (&&'static str, u32)| {
            let id = build.tokenizer.id(text).filter(|&id| build.vocabulary.is_special(id))?;
            Some((id, char::from_u32(FIRST_TOKEN + place)?, text))
        };
        let tokens: Vec<_> = spec.tokens.iter().zip(0..MAX_TOKENS).filter_map(token).collect();
        let word = |text: &str| {
            tokens.iter().fold(text.to_owned(), |word, (_, character, text)| {
                word.replace(text, character.encode_utf8(&mut [0; 4]))
            })
        };
        let [open, close] = spec.wrapper;
        let call = word(spec.call);
        let mut openers = vec![word(open)];
        if spec.bare || open.is_empty() {
            openers.push(call.clone());
        }
        let [wrapper_close, call_close, parameter] = [close, spec.call_close, spec.parameter].map(word);
        let mut landmarks = vec![parameter.clone(), call_close.clone(), wrapper_close.clone()];
        landmarks.extend(openers.clone());
        openers.retain(|word| !word.is_empty());
        landmarks.retain(|word| !word.is_empty());
        let filler: Vec<String> = spec.filler.iter().map(|text| word(text)).collect();
        let mut after_call = vec![wrapper_close.clone()];
        after_call.retain(|word| !word.is_empty());
        after_call.extend(openers.iter().chain(&filler).cloned());
        Self {
            wrapper_close,
            call,
            call_close,
            parameter,
            key_close: word(spec.key_close),
            value_open: word(spec.value_open),
            parameter_close: word(spec.parameter_close),
            filler,
            openers,
            landmarks,
            after_call,
            tokens,
        }
    }

    /// The text of a segment that is one for this family, where it differs from the segment's own.
    #[must_use]
    pub fn of_segment(&self, segment: Segment<'_>) -> Option<String> {
        match segment {
            Segment::Special { id, .. } => {
                self.tokens.iter().find(|token| token.0 == id).map(|token| token.1.to_string())
            }
            Segment::Text(text) => {
                let is_token = |character: char| self.tokens.iter().any(|token| token.1 == character);
                let forged = !self.tokens.is_empty() && text.contains(is_token);
                forged.then(|| text.replace(is_token, "\u{FFFD}"))
            }
        }
    }

    /// The text as the model wrote it.
    #[must_use]
    pub fn plain<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.tokens.iter().fold(Cow::Borrowed(text), |text, &(_, character, token)| {
            if text.contains(character) { Cow::Owned(text.replace(character, token)) } else { text }
        })
    }

    /// Whether a tag may begin with this character.
    #[must_use]
    pub fn is_first(&self, character: char) -> bool {
        character == '<' || self.tokens.iter().any(|token| token.1 == character)
    }

    /// Whether this special token is in one of the tags.
    #[must_use]
    pub fn is_token(&self, id: u32) -> bool {
        self.tokens.iter().any(|token| token.0 == id)
    }

    /// Whether this special token is in an opener.
    #[must_use]
    pub fn is_opener(&self, id: u32) -> bool {
        let token = self.tokens.iter().find(|token| token.0 == id);
        token.is_some_and(|token| self.openers.iter().any(|opener| opener.contains(token.1)))
    }

    /// Whether the text is the start of something that means nothing.
    #[must_use]
    pub fn may_fill(&self, text: &str) -> bool {
        self.filler.iter().any(|word| word.starts_with(text))
    }

    /// Whether the text is the start of something that may stand behind a parameter.
    #[must_use]
    pub fn may_land(&self, text: &str) -> bool {
        text.is_empty() || self.landmarks.iter().any(|word| word.starts_with(text))
    }

    /// The first of some words in the text, and where it stands; for a part of one, where that begins; the length of
    /// the text where there is neither.
    #[must_use]
    pub fn seek(&self, text: &str, words: &[String], is_final: bool) -> (usize, Found) {
        let mut from = 0;
        while let Some(offset) = text[from..].find(|character| self.is_first(character)) {
            let at = from + offset;
            let tail = &text[at..];
            if let Some(index) = words.iter().position(|word| tail.starts_with(word)) {
                return (at, Found::Word(index));
            }
            if !is_final && words.iter().any(|word| word.starts_with(tail)) {
                return (at, Found::Part);
            }
            from = at + tail.chars().next().map_or(1, char::len_utf8);
        }
        (text.len(), Found::Nothing)
    }

    /// Whether a value ends here: at its closing tag, or at another that its end was forgotten before. Each of them
    /// counts only where the format goes on behind it. `declared` tells whether the tool has a parameter whose key is
    /// written so.
    #[must_use]
    pub fn verdict(
        &self,
        text: &str,
        is_final: bool,
        key: Style,
        declared: impl Fn(&str) -> bool,
    ) -> Verdict {
        let after = |word: &str| text.strip_prefix(word).filter(|_| !word.is_empty());
        let (ends, closer) = if let Some(after) = after(&self.parameter_close) {
            (follows(after, is_final, &self.landmarks), Closer::Parameter)
        } else if let Some(after) = after(&self.parameter) {
            (self.is_key(after, is_final, key, declared), Closer::Next)
        } else if let Some(after) = after(&self.call_close) {
            (follows(after, is_final, &self.after_call), Closer::Next)
        } else if let Some(after) = after(&self.wrapper_close) {
            (follows(after, is_final, &self.openers), Closer::Next)
        } else {
            let part = self.parameter_close.starts_with(text)
                || self.landmarks.iter().any(|word| word.starts_with(text));
            (if part && !is_final { None } else { Some(false) }, Closer::Next)
        };
        match ends {
            Some(true) => Verdict::Closes(closer),
            Some(false) => Verdict::Literal,
            None => Verdict::Undecided,
        }
    }

    /// Whether a parameter's tag begins here, which its key tells.
    fn is_key(
        &self,
        text: &str,
        is_final: bool,
        key: Style,
        declared: impl Fn(&str) -> bool,
    ) -> Option<bool> {
        let ends = |character: char| {
            self.is_first(character) || (key == Style::Attribute && "\n>".contains(character))
        };
        match text.find(ends) {
            Some(end) => Some(end <= MAX_NAME && declared(&text[..end])),
            None if is_final || text.len() > MAX_NAME => Some(false),
            None => None,
        }
    }
}

/// Whether one of the words follows, perhaps behind blanks, or the end.
fn follows(text: &str, is_final: bool, words: &[String]) -> Option<bool> {
    let next = text.trim_start();
    if text.len() - next.len() > MAX_BLANKS || words.iter().any(|word| next.starts_with(word)) {
        Some(true)
    } else if words.iter().any(|word| word.starts_with(next)) || next.is_empty() {
        is_final.then_some(true)
    } else {
        Some(false)
    }
}

/// Whether the text begins with a word. An empty word never does.
#[must_use]
pub fn starts_with(text: &str, word: &str) -> bool {
    !word.is_empty() && text.starts_with(word)
}

/// Whether the text is the start of one of the words.
#[must_use]
pub fn may_continue(text: &str, words: &[&String]) -> bool {
    text.is_empty() || words.iter().any(|word| word.starts_with(text))
}
