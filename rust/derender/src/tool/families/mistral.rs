//! Mistral: a JSON list up to version 7 of its tokenizer, then name and arguments, call by call.
//!
//! ```text
//! [TOOL_CALLS] [{"name": "get_weather", "arguments": {"city": "Oslo"}}, …]
//! [TOOL_CALLS]get_weather[ARGS]{"city": "Oslo"}[TOOL_CALLS]…
//! [TOOL_CALLS]get_weather[CALL_ID]abcdefghi[ARGS]{"city": "Oslo"}
//! [TOOL_CALLS]get_weather{"city": "Oslo"}
//! ```
//!
//! Its templates refuse ids of calls that are not nine letters and digits, so such ids are made here. It is forced by
//! its own form only.

use std::hash::Hasher;

use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher24;

use super::json_block::{self, JsonBlock, Shape, Spec};
use crate::parse::json::{Progress, Scanner};
use crate::parse::{self, Context, Event, Events, Input, Markers, Segment, Until};
use crate::tool::{ToolBuild, ToolParser};

const LIST: Spec = Spec { open: &["[TOOL_CALLS]"], shape: Shape::Any, ..Spec::BLOCK };

/// Bytes of a name, or of an id. Something longer is none.
const MAX_WORD: usize = 256;

const ID_LENGTH: usize = 9;

/// The places in `Mistral::head`.
const ARGUMENTS: usize = 0;
const CALL_ID: usize = 1;
const BRACE: usize = 2;

/// The compiled parser.
pub struct Mistral {
    list: JsonBlock,
    open: Markers,
    /// What ends a name: `[ARGS]`, `[CALL_ID]`, or the arguments themselves.
    head: Markers,
    /// Special tokens that are text where they have no meaning.
    shown: Markers,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Mode {
    #[default]
    Text,
    /// After the opening marker.
    Open,
    /// In the JSON of the older form.
    List,
    Name,
    Id,
    /// In the arguments of the newer form.
    Arguments,
    /// In arguments that are malformed.
    Broken,
}

/// Where the parser stands.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct State {
    mode: Mode,
    held: String,
    /// The text since the opening marker, as long as no call has begun.
    raw: String,
    name: String,
    id: String,
    scanner: Scanner,
    list: json_block::State,
    /// Calls begun.
    calls: u32,
}

impl parse::State for State {
    fn is_valid(&self) -> bool {
        let texts = [&self.held, &self.raw, &self.name, &self.id].map(String::as_str);
        parse::are_bounded(&texts) && self.scanner.is_valid() && parse::State::is_valid(&self.list)
    }
}

impl Mistral {
    /// Looks the markers up in a vocabulary.
    #[must_use]
    pub fn new(build: ToolBuild<'_>) -> Self {
        Self {
            list: JsonBlock::new(LIST, build),
            open: Markers::new(&["[TOOL_CALLS]"], build),
            head: Markers::new(&["[ARGS]", "[CALL_ID]", "{"], build),
            shown: Markers::new(&["[ARGS]", "[CALL_ID]"], build),
        }
    }

    fn run(&self, state: &mut State, input: &mut Input, context: &Context, events: &mut Events) {
        loop {
            let go_on = match state.mode {
                Mode::Text => self.text(state, input, events),
                Mode::Open => self.open(state, input, events),
                Mode::List => {
                    let go_on = self.list.block(&mut state.list, input, context, events);
                    if JsonBlock::is_outside(&state.list) {
                        state.mode = Mode::Text;
                    }
                    go_on
                }
                Mode::Name => self.name(state, input, events),
                Mode::Id => self.id(state, input, events),
                Mode::Arguments => self.arguments(state, input, events),
                Mode::Broken => self.broken(state, input, events),
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
            Until::Marker(index) => {
                self.open.text(index).clone_into(&mut state.raw);
                state.mode = Mode::Open;
            }
            Until::Special { id, text } if self.shown.of_id(id).is_some() => events.content(&text),
            Until::Special { .. } => {}
            Until::End => return false,
        }
        true
    }

    fn open(&self, state: &mut State, input: &mut Input, events: &mut Events) -> bool {
        match input.rest().chars().next() {
            Some('[' | '{') => {
                self.list.open_block(&mut state.list, &std::mem::take(&mut state.raw));
                state.mode = Mode::List;
            }
            Some(character) if character.is_whitespace() && state.raw.len() < MAX_WORD => {
                state.raw.push(character);
                input.advance(character.len_utf8());
            }
            Some(_) => state.mode = Mode::Name,
            None if input.special().is_some() => Self::give_up(state, events),
            None => return false,
        }
        true
    }

    fn name(&self, state: &mut State, input: &mut Input, events: &mut Events) -> bool {
        let (text, until) = input.until(&self.head);
        state.raw.push_str(text);
        state.name.push_str(text);
        let bad = state.name.len() > MAX_WORD || state.name.trim().contains(char::is_whitespace);
        match until {
            _ if bad => {
                if let Until::Marker(index) = until {
                    state.raw.push_str(self.head.text(index));
                }
                Self::give_up(state, events);
            }
            Until::Marker(index) if state.name.trim().is_empty() => {
                state.raw.push_str(self.head.text(index));
                Self::give_up(state, events);
            }
            Until::Marker(BRACE) => {
                Self::begin(state, events);
                Self::scan(state, "{", events);
            }
            Until::Marker(CALL_ID) => {
                state.raw.push_str(self.head.text(CALL_ID));
                state.mode = Mode::Id;
            }
            Until::Marker(_) => Self::begin(state, events),
            Until::Special { id, .. } => self.interrupted(state, id, events),
            Until::End => return false,
        }
        true
    }

    fn id(&self, state: &mut State, input: &mut Input, events: &mut Events) -> bool {
        let (text, until) = input.until(&self.head);
        state.raw.push_str(text);
        state.id.push_str(text);
        match until {
            _ if state.id.len() > MAX_WORD => Self::give_up(state, events),
            Until::Marker(ARGUMENTS) => Self::begin(state, events),
            Until::Marker(BRACE) => {
                Self::begin(state, events);
                Self::scan(state, "{", events);
            }
            Until::Marker(_) => {}
            Until::Special { id, .. } => self.interrupted(state, id, events),
            Until::End => return false,
        }
        true
    }

    /// The call begins: its name is known.
    fn begin(state: &mut State, events: &mut Events) {
        let id = state.id.trim();
        events.call_start(state.name.trim(), (!id.is_empty()).then_some(id));
        state.raw.clear();
        state.name.clear();
        state.id.clear();
        state.scanner = Scanner::default();
        state.mode = Mode::Arguments;
    }

    /// A special token stands where the name should go on.
    fn interrupted(&self, state: &mut State, id: u32, events: &mut Events) {
        Self::give_up(state, events);
        if let Some(index) = self.open.of_id(id) {
            self.open.text(index).clone_into(&mut state.raw);
            state.mode = Mode::Open;
        }
    }

    fn give_up(state: &mut State, events: &mut Events) {
        events.content(&std::mem::take(&mut state.raw));
        state.name.clear();
        state.id.clear();
        state.mode = Mode::Text;
    }

    fn scan(state: &mut State, text: &str, events: &mut Events) -> (usize, Progress) {
        let first = state.scanner == Scanner::default();
        let mut out = String::new();
        let (read, progress) = state.scanner.scan(text, &mut out);
        events.arguments(if first { out.trim_start() } else { &out });
        (read, progress)
    }

    fn arguments(&self, state: &mut State, input: &mut Input, events: &mut Events) -> bool {
        let (read, progress) = Self::scan(state, input.rest(), events);
        input.advance(read);
        match progress {
            Progress::Done => {
                events.call_end();
                state.mode = Mode::Text;
            }
            Progress::Malformed => state.mode = Mode::Broken,
            Progress::More if input.is_final() && input.rest().is_empty() && state.scanner.is_complete() => {
                // A number has no end of its own.
                events.call_end();
                state.mode = Mode::Text;
            }
            Progress::More => match input.take_special() {
                Some((_, text)) if state.scanner.in_string() => {
                    Self::scan(state, &text, events);
                }
                // `[ARGS]` once more.
                Some((id, _)) if self.shown.of_id(id).is_some() && !state.scanner.has_begun() => {}
                Some((id, _)) => {
                    state.mode = Mode::Text;
                    if self.open.of_id(id).is_some() {
                        self.interrupted(state, id, events);
                    }
                }
                None => return false,
            },
        }
        true
    }

    fn broken(&self, state: &mut State, input: &mut Input, events: &mut Events) -> bool {
        let (text, until) = input.until(&self.open);
        events.arguments(text);
        match until {
            Until::Marker(index) => {
                self.open.text(index).clone_into(&mut state.raw);
                state.mode = Mode::Open;
            }
            Until::Special { .. } => {}
            Until::End => return false,
        }
        true
    }

    /// Passes events on, and gives ids to the calls that have none.
    fn named(state: &mut State, mut from: Events, context: &Context, events: &mut Events) {
        for event in from.drain() {
            match event {
                Event::Content(text) => events.content(&text),
                Event::Reasoning(text) => events.reasoning(&text),
                Event::ToolCallStart { name, id } => {
                    let id = id.unwrap_or_else(|| {
                        call_id(context.history_tool_calls.saturating_add(state.calls), &name)
                    });
                    state.calls = state.calls.saturating_add(1);
                    events.call_start(&name, Some(&id));
                }
                Event::ToolCallArguments(text) => events.arguments(&text),
                Event::ToolCallEnd => events.call_end(),
                Event::ToolCallCut => events.call_cut(),
            }
        }
    }
}

/// Nine letters and digits, the same for the same call in the same place of a conversation.
fn call_id(index: u32, name: &str) -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut hasher = SipHasher24::new_with_keys(u64::from(index), 0x6d69_7374_7261_6c00);
    hasher.write(name.as_bytes());
    let mut rest = hasher.finish();
    let digits = (0..ID_LENGTH).map(|_| {
        let digit = usize::try_from(rest % 62).unwrap_or(0);
        rest /= 62;
        char::from(DIGITS[digit])
    });
    digits.collect()
}

impl ToolParser for Mistral {
    type State = State;

    fn start(&self) -> State {
        State::default()
    }

    fn feed(&self, state: &mut State, segment: Segment<'_>, context: &Context, events: &mut Events) {
        let mut own = Events::default();
        let mut input = Input::new(&mut state.held, segment);
        self.run(state, &mut input, context, &mut own);
        input.hold(&mut state.held);
        Self::named(state, own, context, events);
    }

    fn finish(&self, state: &mut State, context: &Context, events: &mut Events) {
        let mut own = Events::default();
        let mut input = Input::last(&mut state.held);
        self.run(state, &mut input, context, &mut own);
        match state.mode {
            Mode::List => self.list.end(&mut state.list, &mut own),
            Mode::Open | Mode::Name | Mode::Id => Self::give_up(state, &mut own),
            Mode::Text | Mode::Arguments | Mode::Broken => {}
        }
        Self::named(state, own, context, events);
    }

    fn openers(&self) -> Vec<&'static str> {
        LIST.open.to_vec()
    }

    fn is_opener(&self, id: u32) -> bool {
        self.open.of_id(id).is_some()
    }

    fn is_marker(&self, id: u32) -> bool {
        self.is_opener(id) || self.shown.of_id(id).is_some()
    }

    fn is_native_only(&self) -> bool {
        true
    }
}
