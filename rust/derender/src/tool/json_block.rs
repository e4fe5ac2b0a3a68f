//! The JSON block family: calls are JSON objects between markers, alone, in a list, or one after another.
//!
//! ```text
//! text OPEN {"name": "f", "arguments": {…}} CLOSE text
//! text OPEN [{"name": "f", "arguments": {…}}, …] CLOSE
//! {"name": "f", "parameters": {…}}; {"name": …}            (bare: the answer begins with the JSON itself)
//! ```
//!
//! Text that begins like a block and is none is content, markers included. Once a call's name is known the call has
//! begun; if its arguments then turn out to be malformed, what follows up to the closing marker is passed on as
//! arguments word for word, and the call never counts as complete.

use serde::{Deserialize, Serialize};

use super::call_object::{CallObject, Keys};
use super::{ToolBuild, ToolParser};
use crate::parse::json::Progress;
use crate::parse::{Context, Events, Input, Markers, Segment, Until};

/// What tells one model of the family from another.
#[derive(Debug, Clone, Copy)]
pub struct Spec {
    /// Any of these opens a block.
    pub open: &'static [&'static str],
    /// Any of these closes it. None: the block ends with the JSON.
    pub close: &'static [&'static str],
    /// Whether a list of calls may stand in a block.
    pub list: bool,
    /// Characters between two calls that are not in a list.
    pub separators: &'static [char],
    /// Whether an answer may begin with the JSON, without a marker.
    pub bare: bool,
    pub keys: Keys,
}

/// Text between a marker and its object that is held.
const MAX_HELD: usize = 128;

/// The keys of most models.
pub const KEYS: Keys = Keys { name: &["name"], arguments: &["arguments", "parameters"], id: &[] };

/// A compiled spec.
pub struct JsonBlock {
    spec: Spec,
    open: Markers,
    close: Markers,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Mode {
    /// Nothing but blanks so far: a bare call may begin.
    #[default]
    Start,
    Text,
    /// After an opening marker, or between two calls.
    Before,
    Object,
    /// After a call.
    After,
    /// In arguments that are malformed.
    Broken,
}

/// Where the parser stands.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct State {
    mode: Mode,
    held: String,
    /// The block's text as long as no call has begun in it.
    raw: String,
    in_list: bool,
    object: CallObject,
}

impl JsonBlock {
    /// Compiles a spec for a vocabulary.
    #[must_use]
    pub fn new(spec: Spec, build: ToolBuild<'_>) -> Self {
        Self { spec, open: Markers::new(spec.open, build), close: Markers::new(spec.close, build) }
    }

    fn run(&self, state: &mut State, input: &mut Input, events: &mut Events) {
        loop {
            let go_on = match state.mode {
                Mode::Start => self.start(state, input, events),
                Mode::Text => self.text(state, input, events),
                Mode::Before => self.before(state, input, events),
                Mode::Object => self.object(state, input, events),
                Mode::After => self.after(state, input),
                Mode::Broken => self.broken(state, input, events),
            };
            if !go_on {
                return;
            }
        }
    }

    fn start(&self, state: &mut State, input: &mut Input, events: &mut Events) -> bool {
        if !self.spec.bare {
            state.mode = Mode::Text;
            return true;
        }
        let blanks = input.rest().len() - input.rest().trim_start().len();
        events.content(&input.rest()[..blanks]);
        input.advance(blanks);
        match input.rest().chars().next() {
            None if !input.is_final() => return false,
            Some('{' | '[') => state.mode = Mode::Before,
            _ => state.mode = Mode::Text,
        }
        true
    }

    fn text(&self, state: &mut State, input: &mut Input, events: &mut Events) -> bool {
        let (text, until) = input.until(&self.open);
        events.content(text);
        match until {
            Until::Marker(index) => {
                self.open.text(index).clone_into(&mut state.raw);
                state.mode = Mode::Before;
                true
            }
            // A special token that means nothing here is no text of the answer.
            Until::Special { .. } => true,
            Until::End => false,
        }
    }

    fn before(&self, state: &mut State, input: &mut Input, events: &mut Events) -> bool {
        let Some(character) = input.rest().chars().next() else {
            if input.is_final() {
                Self::give_up(state, events);
                return true;
            }
            return false;
        };
        match character {
            '{' => {
                state.object = CallObject::default();
                state.mode = Mode::Object;
            }
            '[' if self.spec.list && !state.in_list => {
                state.in_list = true;
                state.raw.push('[');
                input.advance(1);
            }
            _ if character.is_whitespace() && state.raw.len() < MAX_HELD => {
                state.raw.push(character);
                input.advance(character.len_utf8());
            }
            _ => Self::give_up(state, events),
        }
        true
    }

    /// The block is none: its text is content.
    fn give_up(state: &mut State, events: &mut Events) {
        events.content(&std::mem::take(&mut state.raw));
        state.in_list = false;
        state.mode = Mode::Text;
    }

    fn object(&self, state: &mut State, input: &mut Input, events: &mut Events) -> bool {
        let (read, progress) = state.object.feed(self.spec.keys, input.rest(), events);
        input.advance(read);
        if state.object.is_started() {
            state.raw.clear();
        }
        match progress {
            Progress::Done => {
                state.mode = Mode::After;
                true
            }
            Progress::Malformed => {
                Self::malformed(state, events);
                true
            }
            Progress::More => match input.take_special() {
                // A special token in a string is the string's: no block ends there.
                Some((_, text)) if state.object.in_string() => {
                    state.object.feed(self.spec.keys, &text, events);
                    true
                }
                Some((id, _)) if self.close.of_id(id).is_some() && state.object.is_started() => {
                    state.mode = Mode::Text;
                    true
                }
                Some((id, text)) if self.close.of_id(id).is_some() || self.open.of_id(id).is_some() => {
                    Self::malformed(state, events);
                    events.content(&text);
                    true
                }
                _ => false,
            },
        }
    }

    fn malformed(state: &mut State, events: &mut Events) {
        if state.object.is_started() {
            state.mode = Mode::Broken;
        } else {
            let raw = state.object.take_raw();
            state.raw.push_str(&raw);
            Self::give_up(state, events);
        }
    }

    fn after(&self, state: &mut State, input: &mut Input) -> bool {
        let rest = input.rest();
        let blanks = rest.len() - rest.trim_start().len();
        let Some(character) = rest[blanks..].chars().next() else {
            if let Some((id, _)) = input.take_special_after_blanks() {
                if self.open.of_id(id).is_some() {
                    state.mode = Mode::Before;
                    state.in_list = false;
                } else {
                    Self::leave(state);
                }
                return true;
            }
            if input.is_final() {
                Self::leave(state);
                return true;
            }
            return false;
        };
        if state.in_list && matches!(character, ',' | ']') {
            input.advance(blanks + 1);
            if character == ',' {
                state.mode = Mode::Before;
            } else {
                state.in_list = false;
            }
            return true;
        }
        if !state.in_list && self.spec.separators.contains(&character) {
            input.advance(blanks + character.len_utf8());
            state.mode = Mode::Before;
            return true;
        }
        let tail = &rest[blanks..];
        for index in 0..self.spec.close.len() {
            let marker = self.close.text(index);
            if self.close.special(index).is_some() {
                continue;
            }
            if tail.starts_with(marker) {
                input.advance(blanks + marker.len());
                Self::leave(state);
                return true;
            }
            if marker.starts_with(tail) && !input.is_final() {
                return false;
            }
        }
        Self::leave(state);
        true
    }

    fn leave(state: &mut State) {
        state.in_list = false;
        state.mode = Mode::Text;
    }

    fn broken(&self, state: &mut State, input: &mut Input, events: &mut Events) -> bool {
        let (text, until) = input.until(&self.close);
        events.arguments(text);
        match until {
            Until::Marker(_) => {
                Self::leave(state);
                true
            }
            Until::Special { .. } => true,
            Until::End => false,
        }
    }
}

impl ToolParser for JsonBlock {
    type State = State;

    fn start(&self) -> State {
        State::default()
    }

    fn feed(&self, state: &mut State, segment: Segment<'_>, _context: &Context, events: &mut Events) {
        let mut input = Input::new(&mut state.held, segment);
        self.run(state, &mut input, events);
        input.hold(&mut state.held);
    }

    fn finish(&self, state: &mut State, _context: &Context, events: &mut Events) {
        let mut input = Input::last(&mut state.held);
        self.run(state, &mut input, events);
        if state.mode == Mode::Object && !state.object.is_started() {
            Self::malformed(state, events);
        }
        events.content(&std::mem::take(&mut state.raw));
    }

    fn is_opener(&self, id: u32) -> bool {
        self.open.of_id(id).is_some()
    }

    fn begins_with_json(&self) -> bool {
        self.spec.bare
    }
}
