//! Arguments in braces with bare keys, `{city:QOsloQ,days:3,tags:[QaQ]}`, where Q is the model's quotation mark, as
//! JSON. They arrive in pieces. No text is malformed: what is not in quotes and no brace, colon or comma is a value
//! that the schema types. A value in plain double quotes is a string too, with a backslash before what it escapes.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::typing::{Types, escaped, quoted};
use crate::parse::json::Progress;
use crate::parse::python_string::PythonString;
use crate::parse::{self, Context, Events};

/// Nesting that is followed; deeper braces are text.
const MAX_DEPTH: usize = 64;
/// The length of a key or value without quotes; a longer one is a string.
const MAX_WORD: usize = 1024;
/// The length of a value in quotes that is no string by the schema; a longer one is a string.
const MAX_HELD: usize = 16 * 1024;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
enum At {
    #[default]
    Key,
    Value,
    /// In a value without quotes.
    Bare,
    /// In a value without quotes that is too long to be held, and a string therefore.
    Long,
    /// In quotes, and the text goes out as it comes.
    Quoted,
    /// In quotes, and the schema wants something else than a string: the text is held.
    Held,
    /// In plain quotes.
    Plain,
    /// In plain quotes, and the schema wants something else than a string: the text is held.
    PlainHeld,
    /// After a value.
    After,
}

/// What is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Kind {
    Object,
    /// As an object, in parentheses.
    Call,
    List,
}

/// An open object or list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Level {
    kind: Kind,
    /// Whether a value stands in it already.
    filled: bool,
    /// The key of the value that is read.
    key: String,
}

impl Level {
    fn new(kind: Kind) -> Self {
        Self { kind, filled: false, key: String::new() }
    }
}

/// Where types come from.
#[derive(Clone, Copy)]
pub struct Typing<'t> {
    pub context: &'t Context,
    /// The types of a value without a schema.
    pub unknown: Types,
}

/// The reader of one call's arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BracedArguments {
    name: String,
    at: At,
    open: Vec<Level>,
    /// A key or value while it is held.
    word: String,
    /// The string in plain quotes.
    plain: PythonString,
}

impl BracedArguments {
    /// See [`crate::parse::State::is_valid`].
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.open.len() <= MAX_DEPTH
            && self.open.iter().all(|level| parse::are_bounded(&[&level.key]))
            && parse::are_bounded(&[&self.name, &self.word])
            && self.plain.is_valid()
    }

    /// The arguments of a function, after their opening brace or parenthesis.
    #[must_use]
    pub fn new(name: &str, opener: char, events: &mut Events) -> Self {
        events.arguments("{");
        let kind = if opener == '(' { Kind::Call } else { Kind::Object };
        Self { name: name.to_owned(), open: vec![Level::new(kind)], ..Self::default() }
    }

    /// Whether the outermost brace is closed.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.open.is_empty()
    }

    /// Whether the next character stands in quotes, where nothing but the closing quotation mark counts.
    #[must_use]
    pub fn in_quotes(&self) -> bool {
        matches!(self.at, At::Quoted | At::Held)
    }

    /// Reads text without markers and tells how many bytes of it were read: all, unless the arguments end before.
    pub fn text(&mut self, text: &str, typing: Typing<'_>, events: &mut Events) -> usize {
        if self.in_quotes() {
            self.quoted(text, events);
            return text.len();
        }
        let mut at = 0;
        while let Some(character) = text[at..].chars().next() {
            if matches!(self.at, At::Plain | At::PlainHeld) {
                at += self.plain(&text[at..], typing, events);
                continue;
            }
            self.step(character, typing, events);
            at += character.len_utf8();
            if self.is_done() {
                break;
            }
        }
        at
    }

    /// Reads a string in plain quotes.
    fn plain(&mut self, text: &str, typing: Typing<'_>, events: &mut Events) -> usize {
        let mut out = String::new();
        let (read, progress) = self.plain.feed(text, &mut out);
        let ended = progress != Progress::More;
        if self.at == At::Plain {
            events.arguments(&out);
            if ended {
                events.arguments("\"");
            }
        } else {
            self.word.push_str(&out);
            if ended {
                let word = std::mem::take(&mut self.word);
                let word: String = serde_json::from_str(&format!("\"{word}\"")).unwrap_or(word);
                events.arguments(&self.types(typing).write(&word, &word));
            } else if self.word.len() > MAX_HELD {
                events.arguments("\"");
                events.arguments(&std::mem::take(&mut self.word));
                self.at = At::Plain;
            }
        }
        if ended {
            self.at = At::After;
        }
        read
    }

    /// Takes text in quotes.
    fn quoted(&mut self, text: &str, events: &mut Events) {
        if self.at == At::Held {
            self.word.push_str(text);
            if self.word.len() <= MAX_HELD {
                return;
            }
            self.at = At::Quoted;
            events.arguments("\"");
            events.arguments(&escaped(&std::mem::take(&mut self.word)));
        } else {
            events.arguments(&escaped(text));
        }
    }

    /// Reads a quotation mark.
    pub fn quote(&mut self, typing: Typing<'_>, events: &mut Events) {
        match self.at {
            // Quotes around a key are no part of it.
            At::Key | At::After | At::Plain | At::PlainHeld => {}
            At::Value => self.at = if self.begin_quoted(typing, events) { At::Quoted } else { At::Held },
            At::Bare => self.end_bare(typing, events),
            At::Quoted | At::Long => {
                events.arguments("\"");
                self.at = At::After;
            }
            At::Held => {
                events.arguments(&self.types(typing).write(&self.word, &self.word));
                self.word.clear();
                self.at = At::After;
            }
        }
    }

    /// Begins a value in quotes. Whether it goes out as it comes, as a string.
    fn begin_quoted(&mut self, typing: Typing<'_>, events: &mut Events) -> bool {
        self.word.clear();
        self.begin(events);
        let types = self.types(typing);
        let streams = types.is_string() || types.is_string_or_null() || types == Types::UNKNOWN;
        if streams {
            events.arguments("\"");
        }
        streams
    }

    fn step(&mut self, character: char, typing: Typing<'_>, events: &mut Events) {
        let closes = self.closes(character);
        match self.at {
            At::Key if character == ':' => {
                let key = std::mem::take(&mut self.word);
                if let Some(level) = self.open.last_mut() {
                    key.trim().clone_into(&mut level.key);
                }
                self.at = At::Value;
            }
            At::Key if closes => {
                self.word.clear();
                self.close(events);
            }
            At::Key if character == ',' && self.word.trim().is_empty() => self.word.clear(),
            At::Value if character.is_whitespace() => {}
            At::Value if closes || character == ',' => {
                if self.in_list() {
                    self.at = At::After;
                } else {
                    self.at = At::Bare;
                }
                self.step(character, typing, events);
            }
            At::Value if matches!(character, '{' | '[') && self.open.len() < MAX_DEPTH => {
                self.begin(events);
                events.arguments(if character == '{' { "{" } else { "[" });
                self.open.push(Level::new(if character == '{' { Kind::Object } else { Kind::List }));
                self.at = if character == '{' { At::Key } else { At::Value };
            }
            At::Value if character == '"' => {
                self.plain = PythonString::new(character, false);
                self.at = if self.begin_quoted(typing, events) { At::Plain } else { At::PlainHeld };
            }
            At::Value => {
                self.word.clear();
                self.word.push(character);
                self.at = At::Bare;
            }
            At::Bare if closes || character == ',' => {
                self.end_bare(typing, events);
                self.step(character, typing, events);
            }
            At::Key | At::Bare => self.push(character, events),
            At::Long if closes || character == ',' => {
                events.arguments("\"");
                self.at = At::After;
                self.step(character, typing, events);
            }
            At::Long => events.arguments(&escaped(character.encode_utf8(&mut [0; 4]))),
            At::After if closes => self.close(events),
            At::After if character == ',' => self.at = if self.in_list() { At::Value } else { At::Key },
            At::Quoted | At::Held | At::Plain | At::PlainHeld | At::After => {}
        }
    }

    /// Adds to what is held, unless that becomes too long.
    fn push(&mut self, character: char, events: &mut Events) {
        self.word.push(character);
        if self.word.len() > MAX_WORD {
            if let Some(level) = self.open.last_mut().filter(|_| self.at == At::Key) {
                level.key.clear();
            }
            self.begin(events);
            events.arguments("\"");
            events.arguments(&escaped(&std::mem::take(&mut self.word)));
            self.at = At::Long;
        }
    }

    fn end_bare(&mut self, typing: Typing<'_>, events: &mut Events) {
        self.begin(events);
        let word = std::mem::take(&mut self.word);
        events.arguments(&self.types(typing).write(&word, word.trim()));
        self.at = At::After;
    }

    fn in_list(&self) -> bool {
        self.open.last().is_some_and(|level| level.kind == Kind::List)
    }

    fn closes(&self, character: char) -> bool {
        let Some(level) = self.open.last() else { return false };
        match level.kind {
            Kind::Object => character == '}',
            Kind::List => character == ']',
            // The model may open with one and close with the other.
            Kind::Call => matches!(character, ')' | '}'),
        }
    }

    /// Writes what stands before a value: the comma and the key.
    fn begin(&mut self, events: &mut Events) {
        let Some(level) = self.open.last_mut() else { return };
        if std::mem::replace(&mut level.filled, true) {
            events.arguments(", ");
        }
        if level.kind != Kind::List {
            events.arguments(&quoted(&level.key));
            events.arguments(": ");
        }
    }

    fn close(&mut self, events: &mut Events) {
        if let Some(level) = self.open.pop() {
            events.arguments(if level.kind == Kind::List { "]" } else { "}" });
        }
        self.at = At::After;
    }

    /// The call is closed: what is open is closed too.
    pub fn close_all(&mut self, typing: Typing<'_>, events: &mut Events) {
        if self.at == At::Bare || (self.at == At::Value && !self.in_list()) {
            self.end_bare(typing, events);
        } else if matches!(self.at, At::Long | At::Plain) {
            events.arguments("\"");
        } else if self.at == At::PlainHeld {
            events.arguments(&quoted(&std::mem::take(&mut self.word)));
        }
        while !self.is_done() {
            self.close(events);
        }
    }

    /// The output is cut: what is held goes out as it is.
    pub fn cut(&mut self, events: &mut Events) {
        let word = std::mem::take(&mut self.word);
        match self.at {
            At::Bare => {
                self.begin(events);
                events.arguments(&word);
            }
            At::Held | At::PlainHeld => events.arguments(&word),
            At::Key | At::Value | At::Long | At::Quoted | At::Plain | At::After => {}
        }
    }

    /// The types of the value that is read.
    fn types(&self, typing: Typing<'_>) -> Types {
        self.schema(typing.context).map_or(typing.unknown, Types::of)
    }

    fn schema<'c>(&self, context: &'c Context) -> Option<&'c Value> {
        let mut schema = &context.tool(&self.name)?.parameters;
        for level in &self.open {
            schema = match level.kind {
                Kind::List => schema.get("items")?,
                Kind::Object | Kind::Call => schema.get("properties")?.get(&level.key)?,
            };
        }
        Some(schema)
    }
}
