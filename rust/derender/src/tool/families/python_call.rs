//! A tool call written as a Python call, `name(key=value, …)`, that arrives in pieces.

use serde::{Deserialize, Serialize};

use crate::parse::json::Progress;
use crate::parse::python::Literal;
use crate::parse::{self, Context, Events, escaped};

/// Text that is held while it is not known whether it is a call. More of it is content.
const MAX_HELD: usize = 16 * 1024;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
enum At {
    #[default]
    Name,
    /// Blanks after the name.
    Open,
    /// A parameter's name or the end.
    Parameter,
    Keyword,
    Equals,
    BeforeValue,
    Value,
    AfterValue,
}

/// The reader of one call. The call begins with its first value, or with its end where it has none: until then the
/// text may still turn out to be prose.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PythonCall {
    at: At,
    name: String,
    /// A parameter's name.
    keyword: String,
    value: Literal,
    /// Text that has not been told yet.
    raw: String,
    started: bool,
    arguments: bool,
}

impl PythonCall {
    /// See [`crate::parse::State::is_valid`].
    #[must_use]
    pub fn is_valid(&self) -> bool {
        parse::are_bounded(&[&self.name, &self.keyword, &self.raw]) && self.value.is_valid()
    }

    /// Whether the call's beginning has been told.
    #[must_use]
    pub fn is_started(&self) -> bool {
        self.started
    }

    /// Takes the text that was read and not told.
    pub fn take_raw(&mut self) -> String {
        std::mem::take(&mut self.raw)
    }

    /// Whether the next character stands inside a string, where no marker counts.
    #[must_use]
    pub fn in_string(&self) -> bool {
        self.at == At::Value && self.value.in_string()
    }

    /// Whether a call can begin with this character.
    #[must_use]
    pub fn begins_with(character: char) -> bool {
        character.is_alphabetic() || character == '_'
    }

    /// Reads from `text` and tells how many bytes were read and how it stands. What was read of a malformed call and
    /// not told is left to [`PythonCall::take_raw`]. With `known`, only the request's tools are called.
    pub fn feed(&mut self, text: &str, known: Option<&Context>, events: &mut Events) -> (usize, Progress) {
        let mut read = 0;
        while read < text.len() {
            let (step, progress) = self.step(&text[read..], known, events);
            read += step;
            if progress != Progress::More {
                return (read, progress);
            }
            if self.raw.len() > MAX_HELD {
                return (read, Progress::Malformed);
            }
        }
        (read, Progress::More)
    }

    fn step(&mut self, text: &str, known: Option<&Context>, events: &mut Events) -> (usize, Progress) {
        if self.at == At::Value {
            return self.value(text, events);
        }
        let Some(character) = text.chars().next() else { return (0, Progress::More) };
        let blank = character.is_whitespace();
        match (self.at, character) {
            (At::Name, _) if character.is_alphanumeric() || matches!(character, '_' | '.') => {
                self.name.push(character);
            }
            (At::Name | At::Open, '(') if known.is_some_and(|context| context.tool(&self.name).is_none()) => {
                return (0, Progress::Malformed);
            }
            (At::Name, '(') if !self.name.is_empty() => self.at = At::Parameter,
            (At::Name, _) if blank && !self.name.is_empty() => self.at = At::Open,
            (At::Open, '(') => self.at = At::Parameter,
            (At::Open | At::Parameter | At::Equals | At::BeforeValue | At::AfterValue, _) if blank => {}
            (At::BeforeValue, _) => {
                self.at = At::Value;
                return (0, Progress::More);
            }
            (At::Parameter | At::AfterValue, ')') => {
                self.end(events);
                return (1, Progress::Done);
            }
            (At::Parameter, _) if Self::begins_with(character) => {
                self.keyword.clear();
                self.keyword.push(character);
                self.at = At::Keyword;
            }
            (At::Keyword, _) if character.is_alphanumeric() || character == '_' => {
                self.keyword.push(character);
            }
            (At::Keyword, _) if blank => self.at = At::Equals,
            (At::Keyword | At::Equals, '=') => {
                self.value = Literal::default();
                self.at = At::BeforeValue;
            }
            (At::AfterValue, ',') => self.at = At::Parameter,
            _ => return (0, Progress::Malformed),
        }
        self.raw.push(character);
        (character.len_utf8(), Progress::More)
    }

    fn value(&mut self, text: &str, events: &mut Events) -> (usize, Progress) {
        let mut out = String::new();
        let (read, progress) = self.value.feed(text, &mut out);
        if !out.is_empty() {
            if !self.keyword.is_empty() {
                self.start(events);
                events.arguments(if self.arguments { ", " } else { "{" });
                events.arguments(&escaped::quoted(&self.keyword));
                events.arguments(": ");
                self.arguments = true;
                self.keyword.clear();
                self.raw.clear();
            }
            events.arguments(&out);
        }
        // Until it is told that there is a value, its text may have to be told as it is.
        if !self.keyword.is_empty() {
            self.raw.push_str(&text[..read]);
        }
        match progress {
            Progress::More => (read, Progress::More),
            // The character that ended the value is looked at by the next step.
            Progress::Done => {
                self.at = At::AfterValue;
                (read, Progress::More)
            }
            Progress::Malformed => {
                if self.keyword.is_empty() {
                    self.raw = self.value.take_held();
                }
                (read, Progress::Malformed)
            }
        }
    }

    fn start(&mut self, events: &mut Events) {
        if !std::mem::replace(&mut self.started, true) {
            events.call_start(&self.name, None);
            self.name = String::new();
        }
    }

    fn end(&mut self, events: &mut Events) {
        self.start(events);
        events.arguments(if self.arguments { "}" } else { "{}" });
        events.call_end();
        self.raw.clear();
    }
}
