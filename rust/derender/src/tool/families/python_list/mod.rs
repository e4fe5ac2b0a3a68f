//! The pythonic family: calls are Python calls, in a list or one after another, between markers or bare.
//!
//! ```text
//! [f(a=1), g(b="x")]                       (bare: the answer begins with the list)
//! text OPEN [f(a=1), g(b="x")] CLOSE text
//! text OPEN f(a=1)
//! g(b="x") CLOSE text
//! ```
//!
//! In the middle of a bare answer, a list that begins a line is calls too, if they are calls of the request's tools.
//!
//! Behind an opening marker JSON is read too, as in the JSON block family.
//!
//! Text that begins like a call and is none is content, markers included. Once a call has begun and its arguments turn
//! out to be malformed, what follows up to the closing marker is passed on word for word, and the call never counts as
//! complete.

mod after;

use serde::{Deserialize, Serialize};

use after::blanks;

use super::json_block::{self, JsonBlock, Shape};
use super::python_call::PythonCall;
use crate::parse::{self, Context, Events, Input, Markers, Segment, Until};
use crate::tool::{ToolBuild, ToolParser};

/// What tells one model of the family from another.
#[derive(Debug, Clone, Copy)]
pub struct Spec {
    /// The marker before the calls, if any.
    pub open: &'static [&'static str],
    /// The marker after them.
    pub close: &'static [&'static str],
    /// Whether an answer may begin with the list, without a marker.
    pub bare: bool,
    /// Whether calls may stand without a list around them.
    pub listless: bool,
    /// Whether the model repeats its calls after the closing marker, ended by one more: the repetition is dropped.
    pub echoes: bool,
}

/// How long a repetition can be; longer text is content.
const MAX_ECHO: usize = 4096;
/// Blanks between calls and markers that are read over. After more of them, text follows.
const MAX_BLANKS: usize = 256;

/// A compiled spec.
pub struct PythonList {
    spec: Spec,
    open: Markers,
    close: Markers,
    json: JsonBlock,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Mode {
    /// Nothing but blanks so far: a bare list may begin.
    #[default]
    Start,
    Text,
    /// After an opening marker, or between two calls.
    Before,
    Call,
    /// In JSON.
    Json,
    /// After a call.
    After,
    /// After the list.
    Closing,
    /// In arguments that are malformed.
    Broken,
    /// After the closing marker: a repetition may come.
    Echo,
}

/// Where the parser stands.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct State {
    mode: Mode,
    held: String,
    /// Text as long as no call has begun in it.
    raw: String,
    in_list: bool,
    /// Whether the text so far ends at the start of a line.
    line_start: bool,
    /// Whether the list follows text: then only the request's tools are calls in it.
    in_prose: bool,
    call: PythonCall,
    json: json_block::State,
}

impl parse::State for State {
    fn is_valid(&self) -> bool {
        parse::are_bounded(&[&self.held, &self.raw])
            && self.call.is_valid()
            && parse::State::is_valid(&self.json)
    }
}

impl PythonList {
    /// Compiles a spec for a vocabulary.
    #[must_use]
    pub fn new(spec: Spec, build: ToolBuild<'_>) -> Self {
        let json = json_block::Spec { close: spec.close, shape: Shape::Any, ..json_block::Spec::BLOCK };
        Self {
            spec,
            open: Markers::new(spec.open, build),
            close: Markers::new(spec.close, build),
            json: JsonBlock::new(json, build),
        }
    }

    fn run(&self, state: &mut State, input: &mut Input, context: &Context, events: &mut Events) {
        loop {
            let go_on = match state.mode {
                Mode::Start => self.start(state, input, events),
                Mode::Text => self.text(state, input, events),
                Mode::Before => self.before(state, input, events),
                Mode::Call => self.call(state, input, context, events),
                Mode::Json => self.json(state, input, context, events),
                Mode::After => self.after(state, input),
                Mode::Closing => self.closing(state, input),
                Mode::Broken => self.broken(state, input, events),
                Mode::Echo => self.echo(state, input, events),
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
        let blanks = blanks(input);
        events.content(&input.rest()[..blanks]);
        input.advance(blanks);
        match input.rest().chars().next() {
            None if !input.is_final() => return false,
            Some('[') => state.mode = Mode::Before,
            _ => state.mode = Mode::Text,
        }
        true
    }

    fn text(&self, state: &mut State, input: &mut Input, events: &mut Events) -> bool {
        if self.spec.bare {
            let plain = input.until_length(&self.open);
            if let Some(at) = list_at_line_start(&input.rest()[..plain], &mut state.line_start) {
                events.content(&input.rest()[..at]);
                input.advance(at);
                state.in_prose = true;
                state.mode = Mode::Before;
                return true;
            }
        }
        let (text, until) = input.until(&self.open);
        events.content(text);
        match until {
            Until::Marker(index) => {
                state.in_prose = false;
                self.open.text(index).clone_into(&mut state.raw);
                state.in_list = false;
                state.mode = Mode::Before;
                true
            }
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
            '[' if !state.in_list => {
                state.in_list = true;
                state.raw.push('[');
                input.advance(1);
            }
            _ if character.is_whitespace() && state.raw.len() < MAX_BLANKS => {
                state.raw.push(character);
                input.advance(character.len_utf8());
            }
            _ if PythonCall::begins_with(character) && (state.in_list || self.spec.listless) => {
                state.call = PythonCall::default();
                state.mode = Mode::Call;
            }
            '{' if self.spec.open.iter().any(|open| state.raw.starts_with(open)) => self.open_json(state),
            _ => Self::give_up(state, events),
        }
        true
    }

    /// JSON begins behind an opening marker, alone or in a list.
    fn open_json(&self, state: &mut State) {
        let raw = std::mem::take(&mut state.raw);
        if let Some((marker, blanks)) = raw.rsplit_once('[').filter(|_| state.in_list) {
            self.json.open_block(&mut state.json, marker);
            state.json.open_list(blanks);
        } else {
            self.json.open_block(&mut state.json, &raw);
        }
        state.mode = Mode::Json;
    }

    fn json(&self, state: &mut State, input: &mut Input, context: &Context, events: &mut Events) -> bool {
        let go_on = self.json.block(&mut state.json, input, context, events);
        if JsonBlock::is_outside(&state.json) {
            state.in_list = false;
            state.mode = Mode::Text;
        }
        go_on
    }

    /// There is no call: the text is content.
    fn give_up(state: &mut State, events: &mut Events) {
        events.content(&std::mem::take(&mut state.raw));
        state.in_list = false;
        state.line_start = false;
        state.mode = Mode::Text;
    }
}

/// Where a list begins in `text` as the first thing of a line. `line_start` says whether a line begins with the text,
/// and then whether one begins after it.
fn list_at_line_start(text: &str, line_start: &mut bool) -> Option<usize> {
    for (at, character) in text.char_indices() {
        match character {
            '[' if *line_start => {
                *line_start = false;
                return Some(at);
            }
            '\n' => *line_start = true,
            _ => *line_start &= character.is_whitespace(),
        }
    }
    None
}

impl ToolParser for PythonList {
    type State = State;

    fn start(&self) -> State {
        State::default()
    }

    fn feed(&self, state: &mut State, segment: Segment<'_>, context: &Context, events: &mut Events) {
        let mut input = Input::new(&mut state.held, segment);
        self.run(state, &mut input, context, events);
        input.hold(&mut state.held);
    }

    fn finish(&self, state: &mut State, context: &Context, events: &mut Events) {
        let mut input = Input::last(&mut state.held);
        self.run(state, &mut input, context, events);
        if state.mode == Mode::Call && !state.call.is_started() {
            Self::malformed(state, events);
        }
        if state.mode == Mode::Json {
            self.json.end(&mut state.json, events);
        }
        events.content(&std::mem::take(&mut state.raw));
    }

    fn openers(&self) -> Vec<&'static str> {
        self.spec.open.to_vec()
    }

    fn is_opener(&self, id: u32) -> bool {
        self.open.of_id(id).is_some()
    }

    fn is_marker(&self, id: u32) -> bool {
        [&self.open, &self.close].iter().any(|markers| markers.of_id(id).is_some())
    }
}
