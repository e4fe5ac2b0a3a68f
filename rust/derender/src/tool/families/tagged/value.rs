//! The tagged family: a call's arguments, from values that arrive in pieces to one JSON object.

use serde::{Deserialize, Serialize};

use super::words::Spec;
use crate::parse::json::{Progress, Scanner};
use crate::parse::python::Literal;
use crate::parse::{self, Context, Events};
use crate::tool::families::typing::{Types, escaped, json, quoted};

/// White space at the end of a value that is held back; of more, the last part.
const MAX_BLANKS: usize = 128;

/// Text of a nullable string that is held while it may be null.
const MAX_NULL: usize = 64;

/// White space around a value that is the format's, and not the value's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trim {
    Nothing,
    /// One line break, of Unix or Windows, at each end, where there is one at the beginning.
    LineBreaks,
    /// All.
    Blanks,
}

/// Text that is held while it decides what the value is. A longer value that is a list or object goes out as it comes.
const MAX_HELD: usize = 256;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Kind {
    /// A string.
    Text,
    /// A string, or null: held until it is no longer like null.
    Nullable,
    /// Held until its end or its length decides.
    #[default]
    Undecided,
    Json(Scanner),
    Python(Literal),
    /// Neither, which showed too late: its text goes out as it is.
    Malformed,
    /// After an object that is all of the arguments.
    Dropped,
}

/// Whether an object that a value holds is all of the arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Whole {
    #[default]
    No,
    /// The value that is read may be.
    Perhaps,
    /// A value, by its key, is if no parameter follows.
    Read { key: String, object: String },
    /// It is, and has gone out.
    Written,
}

/// The arguments of the call that is read, and its value.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    kind: Kind,
    key: String,
    /// The value of the attribute `string`, where there is one.
    string: Option<bool>,
    /// Whether the object is open.
    opened: bool,
    /// Whether any of the value's text is read that counts.
    begun: bool,
    /// Whether a line break at its beginning was the format's.
    framed: bool,
    blanks: String,
    text: String,
    whole: Whole,
}

impl State {
    /// See [`crate::parse::State::is_valid`].
    #[must_use]
    pub fn is_valid(&self) -> bool {
        let kind = match &self.kind {
            Kind::Json(scanner) => scanner.is_valid(),
            Kind::Python(literal) => literal.is_valid(),
            _ => true,
        };
        let whole = match &self.whole {
            Whole::Read { key, object } => parse::are_bounded(&[key, object]),
            _ => true,
        };
        kind && whole && parse::are_bounded(&[&self.key, &self.blanks, &self.text])
    }

    /// A parameter begins.
    pub fn begin(&mut self, key: &str, attributes: &str) {
        key.clone_into(&mut self.key);
        self.string = match (attributes.contains("string=\"true\""), attributes.contains("string=\"false\""))
        {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        };
        self.kind = if self.whole == Whole::Written { Kind::Dropped } else { Kind::Undecided };
        self.begun = false;
        self.framed = false;
        self.blanks.clear();
        self.text.clear();
    }

    /// Its value begins.
    pub fn open(&mut self, spec: &Spec, tool: &str, context: &Context, events: &mut Events) {
        let types = self.types(tool, context);
        self.kind = if self.kind == Kind::Dropped {
            Kind::Dropped
        } else if spec.unwraps && self.may_be_whole(tool, context) {
            self.whole = Whole::Perhaps;
            Kind::Undecided
        } else if types.is_string() {
            self.open_string(events);
            Kind::Text
        } else if types.is_string_or_null() {
            Kind::Nullable
        } else {
            Kind::Undecided
        };
    }

    /// An object begins that stands in place of the parameters.
    pub fn open_arguments(&mut self) {
        self.whole = Whole::Written;
        self.kind = Kind::Json(Scanner::default());
    }

    fn types(&self, tool: &str, context: &Context) -> Types {
        match (context.parameter(tool, &self.key), self.string) {
            (Some(schema), _) => Types::of(schema),
            (None, Some(false)) => Types::UNKNOWN,
            (None, _) => Types::TEXT,
        }
    }

    fn may_be_whole(&self, tool: &str, context: &Context) -> bool {
        let first = !self.opened && self.whole == Whole::No;
        let named = matches!(self.key.as_str(), "arguments" | "input");
        first && named && properties(tool, context).is_some_and(|known| !known.contains_key(&self.key))
    }

    /// The next piece of the value.
    pub fn push(&mut self, piece: &str, trim: Trim, tool: &str, context: &Context, events: &mut Events) {
        match &mut self.kind {
            Kind::Text => self.write(piece, trim, events),
            Kind::Json(_) | Kind::Python(_) => self.go_on(piece, events),
            Kind::Malformed => events.arguments(piece),
            Kind::Dropped => {}
            Kind::Undecided => {
                self.text.push_str(piece);
                if self.text.len() > MAX_HELD {
                    self.decide(trim, tool, context, events);
                }
            }
            Kind::Nullable => {
                self.text.push_str(piece);
                let text = self.text.trim();
                let like_null = "None".starts_with(text)
                    || "null".get(..text.len()).is_some_and(|start| start.eq_ignore_ascii_case(text));
                if !like_null || self.text.len() > MAX_NULL {
                    self.write_string(trim, events);
                }
            }
        }
    }

    /// The text that is held turns out to be a string.
    fn write_string(&mut self, trim: Trim, events: &mut Events) {
        self.open_string(events);
        self.kind = Kind::Text;
        let text = std::mem::take(&mut self.text);
        self.write(&text, trim, events);
    }

    /// Decides by its beginning what a long value is.
    fn decide(&mut self, trim: Trim, tool: &str, context: &Context, events: &mut Events) {
        let whole = self.whole == Whole::Perhaps && begins_whole(&self.text, tool, context);
        if !whole && !self.types(tool, context).may_open(&self.text) {
            self.whole = Whole::No;
            return self.write_string(trim, events);
        }
        let (mut scanner, mut literal) = (Scanner::default(), Literal::default());
        let fits = |(_, progress)| progress != Progress::Malformed;
        self.kind = if fits(scanner.scan(&self.text, &mut String::new())) {
            Kind::Json(Scanner::default())
        } else if fits(literal.feed(&self.text, &mut String::new())) {
            Kind::Python(Literal::default())
        } else {
            self.whole = Whole::No;
            return self.write_string(trim, events);
        };
        if whole {
            self.whole = Whole::Written;
        } else {
            self.whole = Whole::No;
            self.member(events);
        }
        let text = std::mem::take(&mut self.text);
        self.go_on(&text, events);
    }

    /// Reads on in a list or object.
    fn go_on(&mut self, piece: &str, events: &mut Events) {
        let mut out = String::new();
        let (read, _) = match &mut self.kind {
            Kind::Json(scanner) => scanner.scan(piece, &mut out),
            Kind::Python(literal) => {
                let (read, progress) = literal.feed(piece, &mut out);
                if progress == Progress::Malformed {
                    out.push_str(&literal.take_held());
                }
                (read, progress)
            }
            _ => (0, Progress::More),
        };
        events.arguments(&out);
        let rest = &piece[read..];
        if !rest.trim().is_empty() {
            events.arguments(rest);
            self.kind = Kind::Malformed;
        }
    }

    /// Writes text of a string, without the format's white space.
    fn write(&mut self, piece: &str, trim: Trim, events: &mut Events) {
        if piece.is_empty() {
            return;
        }
        let mut text = std::mem::take(&mut self.blanks);
        text.push_str(piece);
        if !self.begun {
            let lead = match trim {
                // It may be the first half of a line break.
                Trim::LineBreaks if text == "\r" => {
                    self.blanks = text;
                    return;
                }
                Trim::LineBreaks => text.len() - after_line_break(&text).unwrap_or(&text).len(),
                Trim::Blanks => text.len() - text.trim_start().len(),
                Trim::Nothing => 0,
            };
            text.drain(..lead);
            self.framed = trim == Trim::LineBreaks && lead > 0;
            self.begun = trim != Trim::Blanks || !text.is_empty();
        }
        let mut keep = match trim {
            Trim::LineBreaks if self.framed => {
                text.strip_suffix('\r').or_else(|| before_line_break(&text)).unwrap_or(&text).len()
            }
            Trim::LineBreaks | Trim::Nothing => text.len(),
            Trim::Blanks => text.trim_end().len().max(text.len().saturating_sub(MAX_BLANKS)),
        };
        while !text.is_char_boundary(keep) {
            keep += 1;
        }
        self.blanks = text.split_off(keep);
        events.arguments(&escaped(&text));
    }

    /// The value ends.
    pub fn close(&mut self, trim: Trim, tool: &str, context: &Context, events: &mut Events) {
        let text = std::mem::take(&mut self.text);
        match self.kind {
            Kind::Text => {
                if self.blanks == "\r" {
                    events.arguments("\\r");
                }
                events.arguments("\"");
            }
            Kind::Undecided if self.whole == Whole::Perhaps && is_whole(&text, tool, context) => {
                let object = json(text.trim()).unwrap_or_default();
                self.whole = Whole::Read { key: std::mem::take(&mut self.key), object };
            }
            Kind::Nullable | Kind::Undecided => {
                if self.whole == Whole::Perhaps {
                    self.whole = Whole::No;
                }
                let value = self.types(tool, context).write(&text, trimmed(&text, trim));
                self.member(events);
                events.arguments(&value);
            }
            Kind::Json(_) | Kind::Python(_) | Kind::Malformed | Kind::Dropped => {}
        }
        self.blanks.clear();
    }

    /// Writes what stands before a value.
    fn member(&mut self, events: &mut Events) {
        self.flush_whole(events);
        events.arguments(if self.opened { ", " } else { "{" });
        self.opened = true;
        events.arguments(&quoted(&self.key));
        events.arguments(": ");
    }

    fn open_string(&mut self, events: &mut Events) {
        self.member(events);
        events.arguments("\"");
    }

    /// What looked like all of the arguments is one of them.
    fn flush_whole(&mut self, events: &mut Events) {
        if let Whole::Read { key, object } = std::mem::take(&mut self.whole) {
            self.opened = true;
            events.arguments(&format!("{{{}: {object}", quoted(&key)));
        }
    }

    /// The arguments end.
    pub fn close_object(&mut self, events: &mut Events) {
        match std::mem::take(&mut self.whole) {
            Whole::Read { object, .. } => events.arguments(&object),
            Whole::Written => {}
            Whole::No | Whole::Perhaps => events.arguments(if self.opened { "}" } else { "{}" }),
        }
        self.opened = false;
    }

    /// The output ends inside a key.
    pub fn cut_key(&mut self, key: &str, events: &mut Events) {
        if self.whole == Whole::Written {
            return;
        }
        self.flush_whole(events);
        events.arguments(if self.opened { ", \"" } else { "{\"" });
        events.arguments(&escaped(key));
    }

    /// The output ends behind a key or inside a value: what is held goes out as it is. Whether the arguments are whole.
    pub fn cut(&mut self, events: &mut Events) -> bool {
        match &mut self.kind {
            Kind::Text => events.arguments(&escaped(&self.blanks)),
            Kind::Nullable => {
                self.open_string(events);
                events.arguments(&escaped(&self.text));
            }
            Kind::Undecided => {
                self.member(events);
                events.arguments(self.text.trim());
            }
            Kind::Python(literal) => events.arguments(&literal.take_held()),
            Kind::Json(scanner) => return self.whole == Whole::Written && scanner.is_complete(),
            Kind::Malformed | Kind::Dropped => {}
        }
        false
    }
}

/// The parameters that a tool's schema names; none where it names none.
pub fn properties<'c>(
    tool: &str,
    context: &'c Context,
) -> Option<&'c serde_json::Map<String, serde_json::Value>> {
    let properties = context.tool(tool)?.parameters.get("properties")?.as_object()?;
    (!properties.is_empty()).then_some(properties)
}

/// Whether a value is an object of the tool's parameters.
fn is_whole(text: &str, tool: &str, context: &Context) -> bool {
    let object = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text.trim());
    let (Ok(object), Some(known)) = (object, properties(tool, context)) else { return false };
    object.keys().all(|key| known.contains_key(key))
}

/// Whether the first key of an object whose beginning this is, is one of the tool's parameters.
fn begins_whole(text: &str, tool: &str, context: &Context) -> bool {
    let key = || text.trim_start().strip_prefix('{')?.trim_start().strip_prefix('"')?.split_once('"');
    let known = properties(tool, context);
    key().zip(known).is_some_and(|((key, _), known)| known.contains_key(key))
}

fn trimmed(text: &str, trim: Trim) -> &str {
    match trim {
        Trim::Nothing => text,
        Trim::LineBreaks => {
            after_line_break(text).map_or(text, |text| before_line_break(text).unwrap_or(text))
        }
        Trim::Blanks => text.trim(),
    }
}

fn after_line_break(text: &str) -> Option<&str> {
    text.strip_prefix('\n').or_else(|| text.strip_prefix("\r\n"))
}

fn before_line_break(text: &str) -> Option<&str> {
    text.strip_suffix("\r\n").or_else(|| text.strip_suffix('\n'))
}
