//! A tool call written as a JSON object, `{"name": …, "arguments": …}` or `{NAME: ARGUMENTS}`, that arrives in pieces.

use serde::{Deserialize, Serialize};

use crate::parse::json::{Progress, Scanner};
use crate::parse::{self, Context, Events};

/// Text that is held while it is not known whether it is a call. More of it is content.
const MAX_HELD: usize = 16 * 1024;

/// Bytes of a name in an object that may be no call. A longer one is a text.
const MAX_NAME: usize = 256;

/// How an object says what it calls.
#[derive(Debug, Clone, Copy)]
pub struct Keys {
    /// The member with the function's name. None: the members' keys are the names, and their values the arguments.
    pub name: &'static [&'static str],
    pub arguments: &'static [&'static str],
    pub id: &'static [&'static str],
}

/// Members that do not speak against a call.
const NEUTRAL: [&str; 2] = ["type", "id"];

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
    flags: Flags,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent of each other")]
struct Flags {
    /// Only name and arguments together make a call, and other members make it none.
    strict: bool,
    has_arguments: bool,
    /// The call's beginning has been told, and not its end.
    started: bool,
    /// A call of this object has been told to its end.
    ended: bool,
    /// The last step told the beginning of a call.
    told: bool,
}

impl CallObject {
    /// See [`crate::parse::State::is_valid`].
    #[must_use]
    pub fn is_valid(&self) -> bool {
        let names = [&self.name, &self.id].map(|name| name.as_deref().unwrap_or_default());
        parse::are_bounded(&names)
            && parse::are_bounded(&[&self.word, &self.early, &self.raw])
            && self.scanner.is_valid()
    }

    /// A reader of an object that may be something else than a call: then nothing is told before its arguments begin.
    #[must_use]
    pub fn strict(strict: bool) -> Self {
        Self { flags: Flags { strict, ..Flags::default() }, ..Self::default() }
    }

    /// Whether the call's beginning has been told, and not its end.
    #[must_use]
    pub fn is_started(&self) -> bool {
        self.flags.started
    }

    /// Whether a call of this object has begun, ended or not.
    #[must_use]
    pub fn has_told(&self) -> bool {
        self.flags.started || self.flags.ended
    }

    /// Ends the call where its arguments are whole, though the object is not: a brace was left out. Whether it did.
    pub fn end_whole(&mut self, events: &mut Events) -> bool {
        let whole = self.flags.started
            && self.flags.has_arguments
            && self.member == Member::Arguments
            && self.at == At::AfterValue;
        if whole {
            self.end_call(events);
        }
        whole
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
    pub fn feed(
        &mut self,
        keys: Keys,
        text: &str,
        context: &Context,
        events: &mut Events,
    ) -> (usize, Progress) {
        let mut read = 0;
        let progress = loop {
            let was_started = self.flags.started;
            let (step, progress) = self.step(keys, &text[read..], context, events);
            let told = std::mem::take(&mut self.flags.told);
            if was_started || told {
                self.raw.clear();
            } else {
                self.raw.push_str(&text[read..read + step]);
                if self.raw.len() > MAX_HELD {
                    read += step;
                    break Progress::Malformed;
                }
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
    fn step(
        &mut self,
        keys: Keys,
        text: &str,
        context: &Context,
        events: &mut Events,
    ) -> (usize, Option<Progress>) {
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
                if keys.name.is_empty() {
                    self.name = serde_json::from_str(self.word.trim()).ok();
                    self.flags.has_arguments = false;
                }
                self.word.clear();
            }
            (At::AfterValue, b',') => {
                self.at = At::Key;
                self.scanner = Scanner::default();
                self.word.clear();
            }
            // A comma may stand before the end, as models write it.
            (At::FirstKey | At::Key | At::AfterValue, b'}') => return (1, Some(self.end(context, events))),
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
            let limit = if self.flags.strict { MAX_NAME } else { MAX_HELD };
            let begun = self.word.trim_start();
            let text = begun.is_empty() || begun.starts_with('"');
            if self.word.len() > limit || (self.member == Member::Name && !key && !text) {
                return (read, Some(Progress::Malformed));
            }
        } else if self.member == Member::Arguments {
            self.arguments(&out, events);
        }
        match progress {
            Progress::More => (read, None),
            Progress::Malformed => (read, Some(Progress::Malformed)),
            Progress::Done if key => {
                self.at = At::Colon;
                match self.member_of(keys) {
                    Some(member) => {
                        self.member = member;
                        (read, None)
                    }
                    None => (read, Some(Progress::Malformed)),
                }
            }
            Progress::Done => {
                self.at = At::AfterValue;
                (read, self.value_done(keys, events))
            }
        }
    }

    /// Passes on a piece of the arguments.
    fn arguments(&mut self, out: &str, events: &mut Events) {
        let shown = if self.flags.has_arguments { out } else { out.trim_start() };
        self.flags.has_arguments |= !shown.is_empty();
        if self.flags.has_arguments {
            self.try_start(events);
        }
        if self.flags.started {
            events.arguments(shown);
        } else {
            self.early.push_str(shown);
        }
    }

    fn value_done(&mut self, keys: Keys, events: &mut Events) -> Option<Progress> {
        match self.member {
            Member::Name => {
                let Ok(name) = serde_json::from_str::<String>(self.word.trim()) else {
                    return Some(Progress::Malformed);
                };
                if name.is_empty() {
                    return Some(Progress::Malformed);
                }
                self.name = Some(name);
                if !self.flags.strict || self.flags.has_arguments {
                    self.try_start(events);
                }
            }
            Member::Id => {
                let word = self.word.trim();
                self.id = Some(serde_json::from_str(word).unwrap_or_else(|_| word.to_owned()));
            }
            Member::Arguments if keys.name.is_empty() => self.end_call(events),
            Member::Arguments | Member::Other => {}
        }
        None
    }

    fn try_start(&mut self, events: &mut Events) {
        if let Some(name) = &self.name
            && !self.flags.started
        {
            self.flags.started = true;
            self.flags.told = true;
            events.call_start(name, self.id.as_deref());
            events.arguments(&std::mem::take(&mut self.early));
        }
    }

    fn end_call(&mut self, events: &mut Events) {
        events.call_end();
        self.flags.started = false;
        self.flags.ended = true;
    }

    fn end(&mut self, context: &Context, events: &mut Events) -> Progress {
        // A name alone is a call of a tool that the request has.
        let known = self.name.as_ref().is_some_and(|name| context.tool(name).is_some());
        if known && !self.flags.ended {
            self.try_start(events);
        }
        if self.flags.started {
            self.end_call(events);
        }
        if self.flags.ended { Progress::Done } else { Progress::Malformed }
    }

    /// What the key just read is for; none where it says that this is no call.
    fn member_of(&self, keys: Keys) -> Option<Member> {
        let key: String = serde_json::from_str(self.word.trim()).unwrap_or_default();
        let is = |names: &[&str]| names.contains(&key.as_str());
        if keys.name.is_empty() {
            return if key.is_empty() { None } else { Some(Member::Arguments) };
        }
        if is(keys.name) && self.name.is_none() {
            Some(Member::Name)
        } else if is(keys.arguments) && !self.flags.has_arguments {
            Some(Member::Arguments)
        } else if is(keys.id) {
            Some(Member::Id)
        } else if !self.flags.strict || self.flags.started || is(&NEUTRAL) {
            Some(Member::Other)
        } else {
            None
        }
    }
}
