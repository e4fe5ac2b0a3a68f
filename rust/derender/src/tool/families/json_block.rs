//! The JSON block family: calls are JSON objects between markers, alone, in a list, or one after another.
//!
//! ```text
//! text OPEN {"name": "f", "arguments": {…}} CLOSE text
//! text OPEN LEAD [{"name": "f", "arguments": {…}}, …] CLOSE
//! text {"name": "f", "parameters": {…}}; {"name": …}            (bare: no marker at all)
//! OPEN [{"f": {…}}, …] CLOSE                                      (the key is the name)
//! ```
//!
//! Text that begins like a block and is none is content, markers included, and where it is JSON, then to its end: a
//! call inside of other JSON is none. Once a call has begun and its arguments then turn out to be malformed, what
//! follows up to the closing marker is passed on as arguments word for word, and the call never counts as complete.

use serde::{Deserialize, Serialize};

use super::call_object::CallObject;
pub use super::json_spec::{Bare, KEYS, Shape, Spec, Strict, Unfinished};
use crate::parse::json::{Progress, Scanner};
use crate::parse::{self, Context, Events, Input, Markers, Segment, Until};
use crate::tool::{ToolBuild, ToolParser};

/// A compiled spec.
pub struct JsonBlock {
    pub(super) spec: Spec,
    /// The opening markers, the characters that open bare JSON, and the opening quote.
    pub(super) open: Markers,
    pub(super) lead: Markers,
    pub(super) close: Markers,
    quote: Markers,
    /// Special tokens that are text where they have no meaning.
    shown: Markers,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Mode {
    /// Nothing but blanks so far: a bare call may begin.
    #[default]
    Start,
    Text,
    /// After an opening marker that another must follow.
    Lead,
    /// Before a call: after the markers, or between two.
    Before,
    Object,
    /// After a call.
    After,
    /// In arguments that are malformed.
    Broken,
    /// In JSON that is no call.
    Other,
    /// In a part of the text where nothing is a call.
    Quoted,
}

/// Where the parser stands.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct State {
    pub(super) mode: Mode,
    held: String,
    /// The block's markers as long as no call has begun in it.
    pub(super) raw: String,
    /// The block's JSON as long as no call has begun in it.
    pub(super) body: String,
    pub(super) bare: bool,
    pub(super) in_list: bool,
    pub(super) object: CallObject,
    /// Whether nothing but blanks came since a whole call.
    pub(super) after_call: bool,
    /// The reader of JSON that is no call.
    other: Scanner,
}

impl State {
    /// A list begins, of which its bracket and some blanks were read.
    pub(super) fn open_list(&mut self, blanks: &str) {
        self.in_list = true;
        self.body.push('[');
        self.body.push_str(blanks);
    }
}

impl parse::State for State {
    fn is_valid(&self) -> bool {
        parse::are_bounded(&[&self.held, &self.raw, &self.body])
            && self.object.is_valid()
            && self.other.is_valid()
    }
}

impl JsonBlock {
    /// Compiles a spec for a vocabulary.
    #[must_use]
    pub fn new(spec: Spec, build: ToolBuild<'_>) -> Self {
        let mut open = spec.open.to_vec();
        if spec.bare == Bare::Anywhere {
            open.extend(match spec.shape {
                Shape::Object => vec!["{"],
                Shape::List => vec!["["],
                Shape::Any => vec!["{", "["],
            });
        }
        open.extend(spec.quote.map(|[opens, _]| opens));
        let quote: Vec<_> = spec.quote.iter().map(|[_, closes]| *closes).collect();
        let shown = [spec.lead, spec.close, spec.shown].concat();
        Self {
            spec,
            open: Markers::new(&open, build),
            lead: Markers::new(spec.lead, build),
            close: Markers::new(spec.close, build),
            quote: Markers::new(&quote, build),
            shown: Markers::new(&shown, build),
        }
    }

    /// Goes on to the state after an opening marker, which is `raw`.
    pub(super) fn open_block(&self, state: &mut State, raw: &str) {
        raw.clone_into(&mut state.raw);
        state.body.clear();
        state.bare = false;
        state.in_list = false;
        state.mode = if self.spec.lead.is_empty() { Mode::Before } else { Mode::Lead };
    }

    /// Whether the parser stands outside of all blocks.
    pub(super) fn is_outside(state: &State) -> bool {
        matches!(state.mode, Mode::Start | Mode::Text)
    }

    fn run(&self, state: &mut State, input: &mut Input, context: &Context, events: &mut Events) {
        loop {
            let go_on = match state.mode {
                Mode::Start => self.start(state, input, events),
                Mode::Text => self.text(state, input, context, events),
                _ => self.block(state, input, context, events),
            };
            if !go_on {
                return;
            }
        }
    }

    /// One step inside of a block. Whether to go on.
    pub(super) fn block(
        &self,
        state: &mut State,
        input: &mut Input,
        context: &Context,
        events: &mut Events,
    ) -> bool {
        match state.mode {
            Mode::Start | Mode::Text => true,
            Mode::Lead => self.lead(state, input, events),
            Mode::Before => self.before(state, input, events),
            Mode::Object => self.object(state, input, context, events),
            Mode::After => self.after(state, input),
            Mode::Broken => self.broken(state, input, events),
            Mode::Other => Self::other(state, input, events),
            Mode::Quoted => self.quoted(state, input, events),
        }
    }

    fn start(&self, state: &mut State, input: &mut Input, events: &mut Events) -> bool {
        state.mode = Mode::Text;
        if self.spec.bare != Bare::Start {
            return true;
        }
        let blanks = input.rest().len() - input.rest().trim_start().len();
        events.content(&input.rest()[..blanks]);
        input.advance(blanks);
        match input.rest().chars().next() {
            None if !input.is_final() => {
                state.mode = Mode::Start;
                return false;
            }
            Some('{' | '[') => {
                self.open_block(state, "");
                state.bare = true;
            }
            _ => {}
        }
        true
    }

    fn text(&self, state: &mut State, input: &mut Input, context: &Context, events: &mut Events) -> bool {
        if input.is_last() && state.after_call && self.open.begins_with(input.rest().trim_start()) {
            // The output ends inside of the next call's marker.
            return false;
        }
        let (text, until) = input.until(&self.open);
        state.after_call &= text.trim_start().is_empty();
        events.content(text);
        match until {
            Until::Marker(index) if index < self.spec.open.len() => {
                self.open_block(state, self.open.text(index));
            }
            Until::Marker(index) => {
                let text = self.open.text(index);
                self.open_block(state, "");
                state.bare = true;
                match text {
                    "{" => {
                        state.object = CallObject::strict(self.spec.strict != Strict::Nowhere);
                        state.object.feed(self.spec.keys, text, context, events);
                        state.mode = Mode::Object;
                    }
                    "[" => state.open_list(""),
                    _ => {
                        events.content(text);
                        state.mode = Mode::Quoted;
                    }
                }
            }
            Until::Special { id, text } => {
                // A special token that means nothing here is no text of the answer, unless it is a stray marker.
                if self.shown.of_id(id).is_some() {
                    events.content(&text);
                }
            }
            Until::End => return false,
        }
        true
    }

    fn quoted(&self, state: &mut State, input: &mut Input, events: &mut Events) -> bool {
        let (text, until) = input.until(&self.quote);
        events.content(text);
        match until {
            Until::Marker(index) => {
                events.content(self.quote.text(index));
                state.mode = Mode::Text;
                true
            }
            Until::Special { .. } => true,
            Until::End => false,
        }
    }

    /// The block is none: its text is content.
    pub(super) fn give_up(state: &mut State, events: &mut Events) {
        events.content(&std::mem::take(&mut state.raw));
        let body = std::mem::take(&mut state.body);
        events.content(&body);
        state.in_list = false;
        state.after_call = false;
        state.other = Scanner::default();
        let (_, progress) = state.other.scan(&body, &mut String::new());
        let goes_on = progress == Progress::More && !body.is_empty();
        state.mode = if goes_on { Mode::Other } else { Mode::Text };
    }

    fn other(state: &mut State, input: &mut Input, events: &mut Events) -> bool {
        let (read, progress) = state.other.scan(input.rest(), &mut String::new());
        events.content(&input.rest()[..read]);
        input.advance(read);
        match (progress, input.special()) {
            (Progress::More, None) => return false,
            (Progress::More, Some(_)) if state.other.in_string() => {
                let text = input.take_special().map(|(_, text)| text).unwrap_or_default();
                state.other.scan(&text, &mut String::new());
                events.content(&text);
            }
            _ => state.mode = Mode::Text,
        }
        true
    }

    /// No more comes, and all is read.
    pub(super) fn end(&self, state: &mut State, events: &mut Events) {
        let begun = state.mode == Mode::Object && state.object.is_started();
        if begun {
            state.object.end_whole(events);
        }
        if !matches!(state.mode, Mode::Lead | Mode::Before | Mode::Object) || begun {
            return;
        }
        let raw = state.object.take_raw();
        state.body.push_str(&raw);
        // What follows a call in its list is the start of one more, and never a text.
        let follows = state.body.starts_with(',') || state.raw.starts_with(self.spec.separators);
        if !follows && (state.bare || self.spec.unfinished == Unfinished::Shown) {
            Self::give_up(state, events);
        }
    }
}

impl ToolParser for JsonBlock {
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
        self.end(state, events);
    }

    fn openers(&self) -> Vec<&'static str> {
        self.spec.open.to_vec()
    }

    fn is_opener(&self, id: u32) -> bool {
        self.open.of_id(id).is_some()
    }

    fn is_marker(&self, id: u32) -> bool {
        self.open.of_id(id).is_some() || self.shown.of_id(id).is_some()
    }

    fn is_text(&self, id: u32) -> bool {
        self.shown.of_id(id).is_some_and(|index| self.spec.shown.contains(&self.shown.text(index)))
    }

    fn is_native_only(&self) -> bool {
        self.spec.native_only
    }

    fn begins_with_json(&self) -> bool {
        self.spec.bare != Bare::Nowhere
    }
}
