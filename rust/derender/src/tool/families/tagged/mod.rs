//! The tagged family: a call is an element, each of its parameters an element inside it.
//!
//! ```text
//! text <tool_call>
//! <function=NAME>
//! <parameter=KEY>
//! VALUE
//! </parameter>
//! </function>
//! </tool_call> text
//! ```
//!
//! Arguments become one JSON object. Strings go out as they come, and so do lists and objects, whose beginning decides
//! what they are; other values are held until they end. A call of one of the request's tools may have a JSON object in
//! place of its parameters. A parameter whose tag is malformed is left out, for JSON has no place for it. A value ends
//! where its closing tag is followed by what the format wants next, so that one may hold its own closing tag as text.
//!
//! Until a call's name and the tag after it are there, all is text that may turn out to be content. Where the output
//! ends before that is decided, it is no content: a call was cut.

mod inside;
mod outside;
mod value;
mod words;

use serde::{Deserialize, Serialize};

use crate::parse::{self, Context, Events, Input, Segment};
use crate::tool::{ToolBuild, ToolParser};
pub use value::Trim;
use words::Words;
pub use words::{Spec, Style};

const QUOTES: [char; 2] = ['"', '\''];

/// A compiled spec.
pub struct Tagged {
    spec: Spec,
    words: Words,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Mode {
    #[default]
    Text,
    /// Where a call may begin: in a wrapper, or after a call.
    Outside,
    Name,
    /// After the name: the next tag decides whether it is a call.
    Named,
    /// Between parameters.
    Inside,
    Key,
    /// Between key and value.
    Keyed,
    Value,
    /// In a call, in text that is no parameter.
    Skip,
}

/// Where the parser stands.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct State {
    mode: Mode,
    held: String,
    /// The text since the opener, as long as no call has begun.
    raw: String,
    /// Whether a call has begun since the wrapper was opened.
    called: bool,
    name: String,
    value: value::State,
}

impl parse::State for State {
    fn is_valid(&self) -> bool {
        parse::are_bounded(&[&self.held, &self.raw, &self.name]) && self.value.is_valid()
    }
}

impl Tagged {
    /// Compiles a spec for a vocabulary.
    #[must_use]
    pub fn new(spec: Spec, build: ToolBuild<'_>) -> Self {
        Self { spec, words: Words::new(spec, build) }
    }

    fn run(&self, state: &mut State, input: &mut Input, context: &Context, events: &mut Events) {
        loop {
            let go_on = match state.mode {
                Mode::Text => self.text(state, input, events),
                Mode::Outside => self.outside(state, input, events),
                Mode::Name => self.name(state, input, events),
                Mode::Named => self.named(state, input, context, events),
                Mode::Inside => self.inside(state, input, events),
                Mode::Key => self.key(state, input),
                Mode::Keyed => self.keyed(state, input, context, events),
                Mode::Value => self.value(state, input, context, events),
                Mode::Skip => self.skip(state, input),
            };
            if go_on {
                continue;
            }
            match input.take_special() {
                Some((_, text)) if state.mode == Mode::Value => {
                    state.value.push(&text, self.spec.trim, &state.name, context, events);
                }
                // It is no text, and nothing begins or ends with it.
                Some(_) => {}
                None => return,
            }
        }
    }
}

/// Splits `"NAME" REST`, `'NAME' REST` or `NAME`. A quote that is not closed leaves no name.
fn attribute(text: &str) -> (&str, &str) {
    let text = text.trim();
    for quote in QUOTES {
        if let Some(quoted) = text.strip_prefix(quote) {
            return quoted.split_once(quote).unwrap_or_default();
        }
    }
    (text, "")
}

/// A name of which the end may be missing.
fn part(text: &str) -> &str {
    let text = text.trim().trim_start_matches(QUOTES);
    text.split(QUOTES).next().unwrap_or_default()
}

/// Whether the text may be the start of a name, which stands right behind its tag or on a line of its own.
fn may_be_name(text: &str) -> bool {
    let name = text.trim_start_matches(['\r', '\n']).trim_start_matches(QUOTES);
    !name.contains(|character: char| character.is_whitespace() || "\"'{}[]()<>".contains(character))
}

impl ToolParser for Tagged {
    type State = State;

    fn start(&self) -> State {
        State::default()
    }

    fn feed(&self, state: &mut State, segment: Segment<'_>, context: &Context, events: &mut Events) {
        let words = self.words.of_segment(segment);
        let segment = words.as_deref().map_or(segment, Segment::Text);
        let mut input = Input::new(&mut state.held, segment);
        self.run(state, &mut input, context, events);
        input.hold(&mut state.held);
    }

    fn finish(&self, state: &mut State, context: &Context, events: &mut Events) {
        let mut input = Input::last(&mut state.held);
        self.run(state, &mut input, context, events);
        let rest = self.words.plain(input.rest()).into_owned();
        match state.mode {
            Mode::Text => events.content(&rest),
            Mode::Name if !may_be_name(&rest) => {
                self.give_up(state, events);
                events.content(&rest);
            }
            // A call that was cut behind its name.
            Mode::Named if context.tool(&state.name).is_some() => {
                state.raw.clear();
                events.call_start(&state.name, None);
            }
            // A call that was cut before it had a name, or a wrapper that was cut while it closed: their tags are no
            // text, and neither is half a name.
            Mode::Outside | Mode::Name | Mode::Named => {
                state.raw.clear();
                events.call_cut();
            }
            Mode::Inside | Mode::Skip => {
                state.value.close_object(events);
                // The model left the closing tags out, or was cut in them: the call is whole.
                if self.words.call_close.starts_with(rest.trim()) {
                    events.call_end();
                }
            }
            Mode::Key => state.value.cut_key(part(&rest), events),
            Mode::Keyed | Mode::Value => {
                if state.value.cut(events) {
                    events.call_end();
                }
            }
        }
    }

    fn openers(&self) -> Vec<&'static str> {
        let [wrapper, _] = self.spec.wrapper;
        vec![if wrapper.is_empty() { self.spec.call } else { wrapper }]
    }

    fn is_opener(&self, id: u32) -> bool {
        self.words.is_opener(id)
    }

    fn is_marker(&self, id: u32) -> bool {
        self.words.is_token(id)
    }

    fn is_native_only(&self) -> bool {
        self.spec.native_only
    }
}
