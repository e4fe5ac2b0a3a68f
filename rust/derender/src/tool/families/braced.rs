//! The braced family: a name and arguments in braces with bare keys.
//!
//! ```text
//! text OPEN call:name{city:QOsloQ,days:3} CLOSE text          (Q: the model's quotation mark)
//! ```
//!
//! The call begins with its brace; text that does not come to one is content, markers included. The closing marker ends
//! a call whose braces are not all closed.

use serde::{Deserialize, Serialize};

use super::braced_arguments::{BracedArguments, Typing};
use super::typing::Types;
use crate::parse::{self, Context, Events, Input, Markers, Segment, Until};
use crate::tool::{ToolBuild, ToolParser};

/// What tells one model of the family from another.
#[derive(Debug, Clone, Copy)]
pub struct Spec {
    pub open: &'static str,
    pub close: &'static str,
    pub quote: &'static str,
    /// The types of a value that stands without quotes and has no schema.
    pub unknown: Types,
    /// Whether a forced call comes in this form only.
    pub native_only: bool,
}

/// The text of a name that is held; more of it is content.
const MAX_HEADER: usize = 256;
/// Blanks before the closing marker that are read over.
const MAX_BLANKS: usize = 256;

/// A compiled spec.
pub struct Braced {
    spec: Spec,
    open: Markers,
    /// The quotation mark and the closing marker.
    inside: Markers,
    /// The quotation mark.
    quote: Markers,
    close: Markers,
}

const QUOTE: usize = 0;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Mode {
    #[default]
    Text,
    /// Before the brace.
    Header,
    Arguments,
    /// After the last brace.
    Closing,
}

/// Where the parser stands.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct State {
    mode: Mode,
    held: String,
    /// The name's text.
    header: String,
    arguments: BracedArguments,
}

impl parse::State for State {
    fn is_valid(&self) -> bool {
        parse::are_bounded(&[&self.held, &self.header]) && self.arguments.is_valid()
    }
}

impl Braced {
    /// Compiles a spec for a vocabulary.
    #[must_use]
    pub fn new(spec: Spec, build: ToolBuild<'_>) -> Self {
        let markers = |texts: &[&'static str]| Markers::new(texts, build);
        Self {
            spec,
            open: markers(&[spec.open]),
            inside: markers(&[spec.quote, spec.close]),
            quote: markers(&[spec.quote]),
            close: markers(&[spec.close]),
        }
    }

    fn run(&self, state: &mut State, input: &mut Input, context: &Context, events: &mut Events) {
        loop {
            let go_on = match state.mode {
                Mode::Text => self.text(state, input, events),
                Mode::Header => self.header(state, input, events),
                Mode::Arguments => self.arguments(state, input, context, events),
                Mode::Closing => self.closing(state, input),
            };
            if !go_on {
                return;
            }
        }
    }

    fn text(&self, state: &mut State, input: &mut Input, events: &mut Events) -> bool {
        let (text, until) = input.until(&self.open);
        events.content(text);
        match until {
            Until::Marker(_) => {
                state.header.clear();
                state.mode = Mode::Header;
                true
            }
            Until::Special { .. } => true,
            Until::End => false,
        }
    }

    fn header(&self, state: &mut State, input: &mut Input, events: &mut Events) -> bool {
        let plain = input.until_length(&self.open);
        let text = &input.rest()[..plain];
        let end = text.find(['{', '(']).unwrap_or(plain);
        let opener = text[end..].chars().next();
        state.header.push_str(&text[..end]);
        input.advance(end);
        if state.header.len() > MAX_HEADER {
            self.give_up(state, events);
            return true;
        }
        if let Some(opener) = opener {
            input.advance(1);
            if let Some(name) = name(&state.header) {
                events.call_start(name, None);
                state.arguments = BracedArguments::new(name, opener, events);
                state.header.clear();
                state.mode = Mode::Arguments;
            } else {
                state.header.push(opener);
                self.give_up(state, events);
            }
            return true;
        }
        match input.until(&self.open).1 {
            // The call begins anew.
            Until::Marker(_) => {
                self.give_up(state, events);
                state.mode = Mode::Header;
            }
            Until::Special { text, .. } => {
                state.header.push_str(&text);
                self.give_up(state, events);
            }
            Until::End => return false,
        }
        true
    }

    /// There is no call: the text is content.
    fn give_up(&self, state: &mut State, events: &mut Events) {
        events.content(self.spec.open);
        events.content(&std::mem::take(&mut state.header));
        state.mode = Mode::Text;
    }

    fn arguments(
        &self,
        state: &mut State,
        input: &mut Input,
        context: &Context,
        events: &mut Events,
    ) -> bool {
        let typing = Typing { context, unknown: self.spec.unknown };
        let quoted = state.arguments.in_quotes();
        if !quoted {
            // A brace may close the arguments before the next marker.
            let plain = input.until_length(&self.inside);
            let text = &input.rest()[..plain];
            let read = state.arguments.text(text, typing, events);
            input.advance(read);
            if state.arguments.is_done() {
                events.call_end();
                state.mode = Mode::Closing;
                return true;
            }
        }
        let (text, until) = input.until(if quoted { &self.quote } else { &self.inside });
        state.arguments.text(text, typing, events);
        match until {
            Until::Marker(QUOTE) => state.arguments.quote(typing, events),
            Until::Marker(_) => {
                state.arguments.close_all(typing, events);
                events.call_end();
                state.mode = Mode::Text;
            }
            // In quotes, a special token is the string's.
            Until::Special { text, .. } if quoted => {
                state.arguments.text(&text, typing, events);
            }
            Until::Special { .. } => {}
            Until::End => return false,
        }
        true
    }

    /// Looks for the closing marker, which may be missing.
    fn closing(&self, state: &mut State, input: &mut Input) -> bool {
        let blanks = input.rest().len() - input.rest().trim_start().len();
        let tail = &input.rest()[blanks..];
        let marker = self.close.text(0);
        let textual = self.close.special(0).is_none();
        if blanks > MAX_BLANKS {
            state.mode = Mode::Text;
        } else if textual && tail.starts_with(marker) {
            input.advance(blanks + marker.len());
            state.mode = Mode::Text;
        } else if input.is_final() || !(tail.is_empty() || (textual && marker.starts_with(tail))) {
            state.mode = Mode::Text;
        } else {
            return false;
        }
        true
    }
}

/// The name in `call:name` or `:name`.
fn name(header: &str) -> Option<&str> {
    let (before, name) = header.trim().split_once(':')?;
    let name = name.trim();
    let plain = |character: char| character.is_alphanumeric() || matches!(character, '_' | '-' | '.');
    (matches!(before, "call" | "") && !name.is_empty() && name.chars().all(plain)).then_some(name)
}

impl ToolParser for Braced {
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
        match state.mode {
            // Where the opening marker is a token of its own, half a name behind it is no text.
            Mode::Header if self.open.special(0).is_some() => {}
            Mode::Header => self.give_up(state, events),
            Mode::Arguments => state.arguments.cut(events),
            Mode::Text | Mode::Closing => {}
        }
    }

    fn openers(&self) -> Vec<&'static str> {
        vec![self.spec.open]
    }

    fn is_opener(&self, id: u32) -> bool {
        self.open.of_id(id).is_some()
    }

    fn is_marker(&self, id: u32) -> bool {
        [&self.open, &self.inside].iter().any(|markers| markers.of_id(id).is_some())
    }

    fn is_native_only(&self) -> bool {
        self.spec.native_only
    }
}
