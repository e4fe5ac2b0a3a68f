//! `tool_choice` required or named: the call comes in the model's own form, or as JSON that a grammar enforced.
//!
//! ```text
//! required   [{"name": "f", "parameters": {…}}, …]
//! named      {…}                                     (the arguments alone)
//! ```
//!
//! The first character of the answer that is not blank tells which: `{` and `[{` are JSON, all else is the model's own
//! form. For a parser whose own form begins with `{`, the first key decides.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::families::json_block::{self, Bare, JsonBlock, KEYS, Shape, Spec};
use super::{AnyToolParser, Keys, ToolBuild, ToolParser};
use crate::parse::json::{Progress, Scanner};
use crate::parse::{self, AnyState, Context, Events, Segment};

const JSON: Spec = Spec {
    shape: Shape::Any,
    separators: &[',', ';'],
    bare: Bare::Start,
    keys: Keys { arguments: &["parameters", "arguments"], ..KEYS },
    ..Spec::BLOCK
};

/// Text that is held until the form is decided.
const MAX_HELD: usize = 128;

/// What the request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    Required,
    /// The function's name.
    Named(String),
}

/// A parser of forced calls around a model's own.
pub struct Forced {
    native: Arc<dyn AnyToolParser>,
    json: JsonBlock,
    form: Form,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Mode {
    #[default]
    Undecided,
    Native,
    Json,
    Arguments,
    /// In arguments that are malformed.
    Broken,
    /// After the arguments.
    Text,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Plain {
    mode: Mode,
    held: String,
    /// Whether any text came at all.
    seen: bool,
    json: json_block::State,
    scanner: Scanner,
}

impl Plain {
    fn is_valid(&self) -> bool {
        parse::are_bounded(&[&self.held]) && parse::State::is_valid(&self.json) && self.scanner.is_valid()
    }
}

struct State {
    plain: Plain,
    native: AnyState,
}

impl Forced {
    /// Wraps the model's own parser.
    #[must_use]
    pub fn new(native: Arc<dyn AnyToolParser>, form: Form, build: ToolBuild<'_>) -> Self {
        Self { native, json: JsonBlock::new(JSON, build), form }
    }

    fn fresh(&self) -> State {
        State { plain: Plain::default(), native: self.native.start() }
    }

    fn state<'s>(&self, state: &'s mut AnyState) -> &'s mut State {
        if !state.0.is::<State>() {
            state.0 = Box::new(self.fresh());
        }
        match state.0.downcast_mut() {
            Some(state) => state,
            None => unreachable!("the type was checked above"),
        }
    }

    /// The form of an answer that begins with `text`, where it can be told.
    fn decide(&self, text: &str) -> Option<Mode> {
        let begun = text.trim_start();
        let mut characters = begun.chars();
        match (characters.next()?, &self.form) {
            ('[', _) => match characters.as_str().trim_start().chars().next()? {
                '{' => Some(Mode::Json),
                _ => Some(Mode::Native),
            },
            ('{', Form::Required) => Some(Mode::Json),
            ('{', Form::Named(_)) if !self.native.begins_with_json() => Some(Mode::Arguments),
            ('{', Form::Named(name)) => {
                let key = characters.as_str().trim_start();
                match key.strip_prefix('"') {
                    None if key.is_empty() => None,
                    None => Some(Mode::Arguments),
                    Some(key) => {
                        let (key, value) = key.split_once('"')?;
                        match key {
                            "name" => called(name, value),
                            "type" | "function" | "id" => Some(Mode::Json),
                            _ => Some(Mode::Arguments),
                        }
                    }
                }
            }
            _ => Some(Mode::Native),
        }
    }

    fn begin(&self, plain: &mut Plain, mode: Mode, events: &mut Events) {
        plain.mode = mode;
        if let (Mode::Arguments, Form::Named(name)) = (mode, &self.form) {
            events.call_start(name, None);
        }
    }

    fn text(&self, state: &mut State, text: &str, context: &Context, events: &mut Events) {
        let plain = &mut state.plain;
        if plain.mode == Mode::Undecided {
            plain.seen |= !text.is_empty();
            plain.held.push_str(text);
            let decided = self.decide(&plain.held);
            let mode = match decided {
                Some(mode) => mode,
                None if plain.held.len() > MAX_HELD && plain.held.trim_start().is_empty() => {
                    // Blanks without end are not worth holding; the form is still open.
                    plain.held.clear();
                    return;
                }
                None if plain.held.len() > MAX_HELD => Mode::Native,
                None => return,
            };
            self.begin(plain, mode, events);
            let held = std::mem::take(&mut plain.held);
            self.decided(state, &held, context, events);
        } else {
            self.decided(state, text, context, events);
        }
    }

    fn decided(&self, state: &mut State, text: &str, context: &Context, events: &mut Events) {
        let plain = &mut state.plain;
        match plain.mode {
            Mode::Native | Mode::Undecided => {
                self.native.feed(&mut state.native, Segment::Text(text), context, events);
            }
            Mode::Json => ToolParser::feed(&self.json, &mut plain.json, Segment::Text(text), context, events),
            Mode::Broken => events.arguments(text),
            Mode::Text => events.content(text),
            Mode::Arguments => {
                let mut out = String::new();
                let (read, progress) = plain.scanner.scan(text, &mut out);
                events.arguments(&out);
                match progress {
                    Progress::More => {}
                    Progress::Done => {
                        events.call_end();
                        plain.mode = Mode::Text;
                        events.content(&text[read..]);
                    }
                    Progress::Malformed => {
                        plain.mode = Mode::Broken;
                        events.arguments(&text[read..]);
                    }
                }
            }
        }
    }
}

impl AnyToolParser for Forced {
    fn start(&self) -> AnyState {
        AnyState(Box::new(self.fresh()))
    }

    fn feed(&self, state: &mut AnyState, segment: Segment<'_>, context: &Context, events: &mut Events) {
        let state = self.state(state);
        match segment {
            Segment::Text(text) => self.text(state, text, context, events),
            Segment::Special { text, .. } if state.plain.scanner.in_string() => {
                self.decided(state, text, context, events);
            }
            Segment::Special { id, .. } => match state.plain.mode {
                Mode::Undecided => {
                    // A token that only frames the answer leaves the form open.
                    let held = std::mem::take(&mut state.plain.held);
                    if self.native.is_opener(id) || !held.trim_start().is_empty() {
                        state.plain.mode = Mode::Native;
                    }
                    self.native.feed(&mut state.native, Segment::Text(&held), context, events);
                    self.native.feed(&mut state.native, segment, context, events);
                }
                Mode::Native => self.native.feed(&mut state.native, segment, context, events),
                Mode::Json => ToolParser::feed(&self.json, &mut state.plain.json, segment, context, events),
                Mode::Arguments | Mode::Broken | Mode::Text => {}
            },
        }
    }

    fn finish(&self, state: &mut AnyState, context: &Context, events: &mut Events) {
        let state = self.state(state);
        match (state.plain.mode, &self.form) {
            (Mode::Undecided, Form::Named(name))
                if state.plain.seen && state.plain.held.trim().is_empty() =>
            {
                // A function without parameters whose grammar let only blanks through.
                state.plain.held.clear();
                events.call(name, None, "{}");
            }
            (Mode::Undecided, _) => {
                let held = std::mem::take(&mut state.plain.held);
                state.plain.mode = Mode::Native;
                self.decided(state, &held, context, events);
            }
            (Mode::Json, _) => ToolParser::finish(&self.json, &mut state.plain.json, context, events),
            _ => {}
        }
        self.native.finish(&mut state.native, context, events);
    }

    fn openers(&self) -> Vec<&'static str> {
        self.native.openers()
    }

    fn is_opener(&self, id: u32) -> bool {
        self.native.is_opener(id)
    }

    fn is_marker(&self, id: u32) -> bool {
        self.native.is_marker(id)
    }

    fn is_text(&self, id: u32) -> bool {
        self.native.is_text(id)
    }

    fn is_native_only(&self) -> bool {
        false
    }

    fn begins_with_json(&self) -> bool {
        true
    }

    fn save(&self, state: &AnyState) -> Vec<u8> {
        let Some(state) = state.0.downcast_ref::<State>() else { return Vec::new() };
        postcard::to_allocvec(&(&state.plain, self.native.save(&state.native))).unwrap_or_default()
    }

    fn load(&self, bytes: &[u8]) -> Option<AnyState> {
        let (state, rest) = postcard::take_from_bytes::<(Plain, Vec<u8>)>(bytes).ok()?;
        let (plain, native) = state;
        if !plain.is_valid() {
            return None;
        }
        let native = self.native.load(&native)?;
        rest.is_empty().then(|| AnyState(Box::new(State { plain, native })))
    }
}

/// What an object is whose first member is a name: a call only where that is the name of the function that is forced,
/// and the function's arguments otherwise. None where more is needed.
fn called(function: &str, value: &str) -> Option<Mode> {
    let value = value.trim_start().strip_prefix(':').unwrap_or(value).trim_start();
    match (value.strip_prefix('"'), value.is_empty() || value == ":") {
        (_, true) => None,
        (None, _) => Some(Mode::Arguments),
        (Some(name), _) => match name.split_once('"') {
            Some((name, _)) if name == function => Some(Mode::Json),
            None if function.starts_with(name) => None,
            _ => Some(Mode::Arguments),
        },
    }
}
