//! A tool call written as a JSON object, `{"name": …, "arguments": …}`, that arrives in pieces.

use serde::{Deserialize, Serialize};

use crate::parse::Events;
use crate::parse::json::{Progress, Scanner};

/// Text that is held while it is not known whether it is a call. More of it is content.
const MAX_HELD: usize = 16 * 1024;

/// The names of the members that matter; others are read over.
#[derive(Debug, Clone, Copy)]
pub struct Keys {
    pub name: &'static [&'static str],
    pub arguments: &'static [&'static str],
    pub id: &'static [&'static str],
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
enum At {
    #[default]
    Open,
    FirstKey,
    Key,
    Colon,
    Value,
    AfterValue,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Member {
    Name,
    Arguments,
    Id,
    #[default]
    Other,
}

/// The reader of one object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallObject {
    at: At,
    member: Member,
    scanner: Scanner,
    /// A key, name or id while it is read.
    word: String,
    name: Option<String>,
    id: Option<String>,
    /// Arguments that came before the name.
    early: String,
    /// All text of the object, as long as its call has not begun.
    raw: String,
    has_arguments: bool,
    started: bool,
}

impl CallObject {
    /// Whether the call's beginning has been told.
    #[must_use]
    pub fn is_started(&self) -> bool {
        self.started
    }

    /// Takes the text read so far, which is content where the call has not begun.
    pub fn take_raw(&mut self) -> String {
        std::mem::take(&mut self.raw)
    }

    /// Whether the next character stands inside a string, where no marker counts.
    #[must_use]
    pub fn in_string(&self) -> bool {
        self.scanner.in_string()
    }

    /// Reads from `text` and tells how many bytes were read and how it stands. A malformed object that has begun its
    /// call has told all that was well-formed; one that has not leaves its text to [`CallObject::take_raw`].
    pub fn feed(&mut self, keys: Keys, text: &str, events: &mut Events) -> (usize, Progress) {
        let mut read = 0;
        let progress = loop {
            let (step, progress) = self.step(keys, &text[read..], events);
            if !self.started {
                self.raw.push_str(&text[read..read + step]);
                if self.raw.len() > MAX_HELD {
                    read += step;
                    break Progress::Malformed;
                }
            } else if !self.raw.is_empty() {
                self.raw = String::new();
            }
            read += step;
            match progress {
                Some(progress) => break progress,
                None if read == text.len() => break Progress::More,
                None => {}
            }
        };
        (read, progress)
    }

    /// One step: the bytes read, and how it stands where it does not go on.
    fn step(&mut self, keys: Keys, text: &str, events: &mut Events) -> (usize, Option<Progress>) {
        if matches!(self.at, At::Value)
            || (matches!(self.at, At::FirstKey | At::Key) && self.scanner.in_string())
        {
            return self.scan(keys, text, events);
        }
        let Some(byte) = text.bytes().next() else { return (0, Some(Progress::More)) };
        match (self.at, byte) {
            (_, b' ' | b'\t' | b'\n' | b'\r') => {}
            (At::Open, b'{') => self.at = At::FirstKey,
            (At::FirstKey | At::Key, b'"') => return self.scan(keys, text, events),
            (At::Colon, b':') => {
                self.at = At::Value;
                self.scanner = Scanner::default();
                self.word.clear();
            }
            (At::AfterValue, b',') => {
                self.at = At::Key;
                self.scanner = Scanner::default();
                self.word.clear();
            }
            (At::FirstKey | At::AfterValue, b'}') => return (1, Some(self.end(events))),
            _ => return (0, Some(Progress::Malformed)),
        }
        (1, None)
    }

    /// Reads a key or a value.
    fn scan(&mut self, keys: Keys, text: &str, events: &mut Events) -> (usize, Option<Progress>) {
        let key = self.at != At::Value;
        let mut out = String::new();
        let (read, progress) = self.scanner.scan(text, &mut out);
        if key || matches!(self.member, Member::Name | Member::Id) {
            self.word.push_str(&out);
            if self.word.len() > MAX_HELD {
                return (read, Some(Progress::Malformed));
            }
        } else if self.member == Member::Arguments {
            let shown = if self.has_arguments { out.as_str() } else { out.trim_start() };
            self.has_arguments |= !shown.is_empty();
            if self.started { events.arguments(shown) } else { self.early.push_str(shown) }
        }
        match progress {
            Progress::More => (read, None),
            Progress::Malformed => (read, Some(Progress::Malformed)),
            Progress::Done if key => {
                self.member = self.member_of(keys);
                self.at = At::Colon;
                (read, None)
            }
            Progress::Done => {
                self.at = At::AfterValue;
                (read, self.value_done(events))
            }
        }
    }

    fn value_done(&mut self, events: &mut Events) -> Option<Progress> {
        match self.member {
            Member::Name => {
                let Ok(name) = serde_json::from_str::<String>(self.word.trim()) else {
                    return Some(Progress::Malformed);
                };
                if name.is_empty() {
                    return Some(Progress::Malformed);
                }
                self.started = true;
                events.call_start(&name, self.id.as_deref());
                events.arguments(&std::mem::take(&mut self.early));
                self.name = Some(name);
            }
            Member::Id => {
                let word = self.word.trim();
                self.id = Some(serde_json::from_str(word).unwrap_or_else(|_| word.to_owned()));
            }
            Member::Arguments | Member::Other => {}
        }
        None
    }

    fn end(&mut self, events: &mut Events) -> Progress {
        if !self.started {
            return Progress::Malformed;
        }
        if !self.has_arguments {
            events.arguments("{}");
        }
        events.call_end();
        Progress::Done
    }

    fn member_of(&self, keys: Keys) -> Member {
        let key: String = serde_json::from_str(self.word.trim()).unwrap_or_default();
        let is = |names: &[&str]| names.contains(&key.as_str());
        if is(keys.name) && self.name.is_none() {
            Member::Name
        } else if is(keys.arguments) && !self.has_arguments {
            Member::Arguments
        } else if is(keys.id) {
            Member::Id
        } else {
            Member::Other
        }
    }
}
