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
//! Arguments become one JSON object. Strings go out as they come; values that the tool's schema types otherwise are
//! held until they end. A parameter whose tag is malformed is left out, for JSON has no place for it. A value ends
//! where its closing tag is followed by what the format wants next, so that one may hold its own closing tag as text.
//!
//! Until a call's name and the tag after it are there, all is text that may turn out to be content.

use serde::{Deserialize, Serialize};

use super::tagged_value::{self, properties};
use super::tagged_words::{Closer, Found, MAX_NAME, Spec, Style, Verdict, Words};
use super::{ToolBuild, ToolParser};
use crate::parse::{Context, Events, Input, Segment};

const QUOTES: [char; 2] = ['"', '\''];

/// Text in front of a call's name that is held; more of it is content.
const MAX_RAW: usize = 1024;

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
    value: tagged_value::State,
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
                Mode::Named => self.named(state, input, events),
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
                    state.value.push(&text, self.spec.trim, events)
                }
                // It is no text, and nothing begins or ends with it.
                Some(_) => {}
                None => return,
            }
        }
    }

    fn text(&self, state: &mut State, input: &mut Input, events: &mut Events) -> bool {
        let (at, found) = self.words.seek(input.rest(), &self.words.openers, input.is_final());
        events.content(&self.words.plain(&input.rest()[..at]));
        input.advance(at);
        let Found::Word(index) = found else { return false };
        let opener = &self.words.openers[index];
        state.raw.clone_from(opener);
        state.called = false;
        state.mode = if *opener == self.words.call { Mode::Name } else { Mode::Outside };
        input.advance(opener.len());
        true
    }

    fn outside(&self, state: &mut State, input: &mut Input, events: &mut Events) -> bool {
        if !self.blanks(state, input, events) {
            return true;
        }
        let words = &self.words;
        let text = input.rest();
        let (length, next) = if text.starts_with(&words.call) {
            (words.call.len(), Mode::Name)
        } else if let Some(filler) = words.filler.iter().find(|filler| text.starts_with(*filler)) {
            (filler.len(), Mode::Outside)
        } else if state.called && words.starts_with(text, &words.wrapper_close) {
            (words.wrapper_close.len(), Mode::Text)
        } else if !input.is_final()
            && (words.may_continue(text, &[&words.call, &words.wrapper_close]) || words.may_fill(text))
        {
            return false;
        } else {
            self.give_up(state, events);
            return true;
        };
        match next {
            Mode::Text => state.raw.clear(),
            // Behind a call it is the call's.
            Mode::Outside if state.called => {}
            _ => state.raw.push_str(&text[..length]),
        }
        input.advance(length);
        state.mode = next;
        true
    }

    /// Reads blanks in front of a call or its first tag. False: there are so many that it is none.
    fn blanks(&self, state: &mut State, input: &mut Input, events: &mut Events) -> bool {
        let blanks = input.rest().len() - input.rest().trim_start().len();
        state.raw.push_str(&input.rest()[..blanks]);
        input.advance(blanks);
        if state.raw.len() > MAX_RAW {
            self.give_up(state, events);
            return false;
        }
        true
    }

    /// What was read since the opener is text, and so is what follows.
    fn give_up(&self, state: &mut State, events: &mut Events) {
        let raw = std::mem::take(&mut state.raw);
        events.content(&self.words.plain(&raw));
        state.mode = Mode::Text;
    }

    fn name(&self, state: &mut State, input: &mut Input, events: &mut Events) -> bool {
        let rest = input.rest();
        let begun = rest.len() - rest.trim_start().len();
        let ends = |character: char| character == '\n' || character == '>' || self.words.is_first(character);
        let end = rest[begun..].find(ends).map(|length| begun + length);
        let Some(end) = end.filter(|end| *end <= MAX_NAME) else {
            if rest.len() > MAX_NAME || input.is_final() {
                self.give_up(state, events);
                return true;
            }
            return false;
        };
        let (name, read) = match self.spec.name {
            Style::Attribute if rest[end..].starts_with('>') => (attribute(&rest[..end]).0, end + 1),
            Style::Line if !rest[end..].starts_with('>') => (rest[..end].trim(), end),
            _ => ("", 0),
        };
        let malformed = |character: char| character.is_whitespace() || "\"'{}[]()<>".contains(character);
        if name.is_empty() || name.contains(malformed) {
            self.give_up(state, events);
            return true;
        }
        name.clone_into(&mut state.name);
        state.raw.push_str(&rest[..read]);
        input.advance(read);
        state.mode = Mode::Named;
        true
    }

    fn named(&self, state: &mut State, input: &mut Input, events: &mut Events) -> bool {
        if !self.blanks(state, input, events) {
            return true;
        }
        let words = &self.words;
        let text = input.rest();
        if text.starts_with(&words.parameter) || text.starts_with(&words.call_close) {
            Self::begin(state, events);
        } else if !input.is_final() && words.may_continue(text, &[&words.parameter, &words.call_close]) {
            return false;
        } else {
            self.give_up(state, events);
        }
        true
    }

    fn begin(state: &mut State, events: &mut Events) {
        state.raw.clear();
        state.called = true;
        state.value = tagged_value::State::default();
        state.mode = Mode::Inside;
        events.call_start(&state.name, None);
    }

    fn inside(&self, state: &mut State, input: &mut Input, events: &mut Events) -> bool {
        let words = &self.words;
        let rest = input.rest();
        let text = rest.trim_start();
        let blanks = rest.len() - text.len();
        if text.starts_with(&words.parameter) {
            input.advance(blanks + words.parameter.len());
            state.mode = Mode::Key;
        } else if text.starts_with(&words.call_close) {
            input.advance(blanks + words.call_close.len());
            self.end(state, events);
        } else if words.starts_with(text, &words.wrapper_close) {
            input.advance(blanks);
            self.end(state, events);
        } else if words.openers.iter().any(|opener| text.starts_with(opener)) {
            // The next call begins, and the end of this one was forgotten.
            input.advance(blanks);
            self.end(state, events);
            state.mode = Mode::Text;
        } else if words.may_land(text) {
            input.advance(blanks);
            return false;
        } else {
            state.mode = Mode::Skip;
        }
        true
    }

    fn end(&self, state: &mut State, events: &mut Events) {
        state.value.close_object(events);
        events.call_end();
        state.name.clear();
        state.mode = if self.words.wrapper_close.is_empty() { Mode::Text } else { Mode::Outside };
    }

    fn skip(&self, state: &mut State, input: &mut Input) -> bool {
        let (at, found) = self.words.seek(input.rest(), &self.words.landmarks, input.is_final());
        input.advance(at);
        if !matches!(found, Found::Word(_)) {
            return false;
        }
        state.mode = Mode::Inside;
        true
    }

    fn key(&self, state: &mut State, input: &mut Input) -> bool {
        let words = &self.words;
        let rest = input.rest();
        let end = match self.spec.key {
            Style::Attribute => {
                rest.find(|character| "\n<>".contains(character) || words.is_first(character))
            }
            Style::Line => rest.find(|character| words.is_first(character)),
        };
        let Some(end) = end.filter(|end| *end <= MAX_NAME) else {
            if rest.len() > MAX_NAME {
                state.mode = Mode::Skip;
            }
            return rest.len() > MAX_NAME;
        };
        let tail = &rest[end..];
        if !tail.starts_with(&words.key_close) {
            if !input.is_final() && words.key_close.starts_with(tail) {
                return false;
            }
            state.mode = Mode::Skip;
            input.advance(end);
            return true;
        }
        let (key, attributes) = match self.spec.key {
            Style::Attribute => attribute(&rest[..end]),
            Style::Line => (rest[..end].trim(), ""),
        };
        state.value.begin(key, attributes);
        let read = end + words.key_close.len();
        state.mode = if key.is_empty() { Mode::Skip } else { Mode::Keyed };
        input.advance(read);
        true
    }

    fn keyed(&self, state: &mut State, input: &mut Input, context: &Context, events: &mut Events) -> bool {
        let opener = &self.words.value_open;
        if !opener.is_empty() {
            let text = input.rest().trim_start();
            let blanks = input.rest().len() - text.len();
            if !text.starts_with(opener) {
                if opener.starts_with(text) && (text.is_empty() || !input.is_final()) {
                    input.advance(blanks);
                    return false;
                }
                state.mode = Mode::Skip;
                return true;
            }
            input.advance(blanks + opener.len());
        }
        state.value.open(&self.spec, &state.name, context, events);
        state.mode = Mode::Value;
        true
    }

    fn value(&self, state: &mut State, input: &mut Input, context: &Context, events: &mut Events) -> bool {
        let words = &self.words;
        loop {
            let rest = input.rest();
            let at = rest.find(|character| words.is_first(character)).unwrap_or(rest.len());
            state.value.push(&words.plain(&rest[..at]), self.spec.trim, events);
            input.advance(at);
            let rest = input.rest();
            let Some(first) = rest.chars().next() else { return false };
            let declared = |key: &str| self.is_declared(&state.name, key, context);
            let literal = match words.verdict(rest, input.is_final(), self.spec.key, declared) {
                Verdict::Undecided => return false,
                Verdict::Closes(closer) => {
                    let read = if closer == Closer::Parameter { words.parameter_close.len() } else { 0 };
                    state.value.close(self.spec.trim, &state.name, context, events);
                    input.advance(read);
                    state.mode = Mode::Inside;
                    return true;
                }
                Verdict::Literal => first.len_utf8(),
            };
            state.value.push(&words.plain(&rest[..literal]), self.spec.trim, events);
            input.advance(literal);
        }
    }

    /// Whether a tool has this parameter, or may have it.
    fn is_declared(&self, tool: &str, key: &str, context: &Context) -> bool {
        let key = match self.spec.key {
            Style::Attribute => attribute(key).0,
            Style::Line => key.trim(),
        };
        match properties(tool, context) {
            Some(known) => known.contains_key(key),
            None => !key.is_empty() && !key.contains(char::is_whitespace),
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
            // A wrapper that was cut while it closed.
            Mode::Outside if state.called && self.words.wrapper_close.starts_with(rest.trim()) => {}
            Mode::Text | Mode::Outside | Mode::Name | Mode::Named => {
                self.give_up(state, events);
                events.content(&rest);
            }
            Mode::Inside | Mode::Skip => {
                state.value.close_object(events);
                // The model left the closing tags out, or was cut in them: the call is whole.
                if self.words.call_close.starts_with(rest.trim()) {
                    events.call_end();
                }
            }
            Mode::Key => state.value.cut_key(part(&rest), events),
            Mode::Keyed | Mode::Value => state.value.cut(events),
        }
    }

    fn is_opener(&self, id: u32) -> bool {
        self.words.is_opener(id)
    }
}
