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
//! Text that begins like a call and is none is content, markers included. Once a call has begun and its arguments turn
//! out to be malformed, what follows up to the closing marker is passed on word for word, and the call never counts as
//! complete.

use serde::{Deserialize, Serialize};

use super::python_call::PythonCall;
use crate::parse::json::Progress;
use crate::parse::{Context, Events, Input, Lead, Markers, Segment, Until, take_lead};
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
}

impl PythonList {
    /// Compiles a spec for a vocabulary.
    #[must_use]
    pub fn new(spec: Spec, build: ToolBuild<'_>) -> Self {
        Self { spec, open: Markers::new(spec.open, build), close: Markers::new(spec.close, build) }
    }

    fn run(&self, state: &mut State, input: &mut Input, context: &Context, events: &mut Events) {
        loop {
            let go_on = match state.mode {
                Mode::Start => self.start(state, input, events),
                Mode::Text => self.text(state, input, events),
                Mode::Before => self.before(state, input, events),
                Mode::Call => self.call(state, input, context, events),
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
            _ => Self::give_up(state, events),
        }
        true
    }

    /// There is no call: the text is content.
    fn give_up(state: &mut State, events: &mut Events) {
        events.content(&std::mem::take(&mut state.raw));
        state.in_list = false;
        state.line_start = false;
        state.mode = Mode::Text;
    }

    fn call(&self, state: &mut State, input: &mut Input, context: &Context, events: &mut Events) -> bool {
        let known = Some(context).filter(|_| state.in_prose);
        let (read, progress) = state.call.feed(input.rest(), known, events);
        input.advance(read);
        if state.call.is_started() {
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
                Some((_, text)) if state.call.in_string() => {
                    state.call.feed(&text, known, events);
                    true
                }
                Some((id, _)) if self.close.of_id(id).is_some() && state.call.is_started() => {
                    state.mode = Mode::Text;
                    true
                }
                Some((id, text)) if self.close.of_id(id).is_some() => {
                    Self::malformed(state, events);
                    events.content(&text);
                    true
                }
                _ => false,
            },
        }
    }

    fn malformed(state: &mut State, events: &mut Events) {
        let raw = state.call.take_raw();
        if state.call.is_started() {
            events.arguments(&raw);
            state.mode = Mode::Broken;
        } else {
            state.raw.push_str(&raw);
            Self::give_up(state, events);
        }
    }

    fn after(&self, state: &mut State, input: &mut Input) -> bool {
        let blanks = blanks(input);
        if blanks > MAX_BLANKS {
            state.mode = Mode::Text;
            return true;
        }
        let Some(character) = input.rest()[blanks..].chars().next() else {
            if input.is_final() {
                state.mode = Mode::Closing;
            }
            return input.is_final();
        };
        match character {
            ',' => {
                input.rest()[..=blanks].clone_into(&mut state.raw);
                input.advance(blanks + 1);
                state.mode = Mode::Before;
            }
            ']' if state.in_list => {
                input.advance(blanks + 1);
                state.mode = Mode::Closing;
            }
            // A new line is as good as a comma.
            _ if PythonCall::begins_with(character)
                && (state.in_list || self.spec.listless)
                && blanks > 0 =>
            {
                input.rest()[..blanks].clone_into(&mut state.raw);
                input.advance(blanks);
                state.mode = Mode::Before;
            }
            _ => state.mode = Mode::Closing,
        }
        true
    }

    /// Looks for the closing marker, which may be missing.
    fn closing(&self, state: &mut State, input: &mut Input) -> bool {
        state.in_list = false;
        if blanks(input) > MAX_BLANKS {
            state.mode = Mode::Text;
            return true;
        }
        state.mode = match take_lead(input, &self.close) {
            Lead::Marker(_) => self.closed(),
            Lead::Undecided => return false,
            Lead::Other => {
                // A marker that was cut is no text.
                let rest = input.rest().trim_start();
                if input.is_last() && self.close.begins_with(rest) {
                    input.advance(input.rest().len());
                }
                Mode::Text
            }
        };
        true
    }

    fn closed(&self) -> Mode {
        if self.spec.echoes { Mode::Echo } else { Mode::Text }
    }

    fn echo(&self, state: &mut State, input: &mut Input, events: &mut Events) -> bool {
        if state.raw.is_empty() {
            let blanks = blanks(input);
            events.content(&input.rest()[..blanks]);
            input.advance(blanks);
            match input.rest().chars().next() {
                None if !input.is_final() => return false,
                Some('[') => {}
                _ => {
                    state.mode = Mode::Text;
                    return true;
                }
            }
        }
        let (text, until) = input.until(&self.close);
        state.raw.push_str(text);
        if state.raw.len() > MAX_ECHO {
            Self::give_up(state, events);
        }
        match until {
            Until::Marker(_) => {
                state.raw.clear();
                true
            }
            Until::Special { .. } => {
                Self::give_up(state, events);
                true
            }
            Until::End => false,
        }
    }

    fn broken(&self, state: &mut State, input: &mut Input, events: &mut Events) -> bool {
        let (text, until) = input.until(&self.close);
        events.arguments(text);
        match until {
            Until::Marker(_) => {
                state.in_list = false;
                state.mode = Mode::Text;
                true
            }
            Until::Special { .. } => true,
            Until::End => false,
        }
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

/// The bytes of blanks that the unread text begins with.
fn blanks(input: &Input) -> usize {
    input.rest().len() - input.rest().trim_start().len()
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
        events.content(&std::mem::take(&mut state.raw));
    }

    fn is_opener(&self, id: u32) -> bool {
        self.open.of_id(id).is_some()
    }

    fn is_marker(&self, id: u32) -> bool {
        [&self.open, &self.close].iter().any(|markers| markers.of_id(id).is_some())
    }
}
