//! GPT-OSS: messages to functions in the harmony format. See [`crate::parse::harmony`].
//!
//! ```text
//! <|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Oslo"}<|call|>
//! ```
//!
//! It reads the whole format, so that it works without the reasoning parser too; from that it gets plain text and the
//! messages to functions.

use serde::{Deserialize, Serialize};

use crate::parse::harmony::{self, Harmony, Header, Sink};
use crate::parse::{self, Context, Events, Input, Segment};
use crate::tool::{ToolBuild, ToolParser};

/// The parser.
pub struct OpenAi {
    harmony: Harmony,
    openers: [Option<u32>; 2],
}

/// Where the parser stands.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct State {
    harmony: harmony::State,
    held: String,
}

impl parse::State for State {
    fn is_valid(&self) -> bool {
        parse::are_bounded(&[&self.held]) && parse::State::is_valid(&self.harmony)
    }
}

impl OpenAi {
    /// Looks the format's markers up in the vocabulary.
    #[must_use]
    pub fn new(build: ToolBuild<'_>) -> Self {
        let harmony = Harmony::new(build);
        let openers = [harmony.markers.special(0), harmony.markers.special(1)];
        Self { harmony, openers }
    }
}

impl Sink for Events {
    fn reasoning(&mut self, text: &str) {
        Events::reasoning(self, text);
    }

    fn content(&mut self, text: &str) {
        Events::content(self, text);
    }

    fn call(&mut self, header: &Header, _after_text: bool) {
        self.call_start(header.function().unwrap_or_default(), None);
    }

    fn arguments(&mut self, text: &str) {
        Events::arguments(self, text);
    }

    fn call_end(&mut self, _marker: usize, whole: bool) {
        if whole {
            Events::call_end(self);
        }
    }
}

impl ToolParser for OpenAi {
    type State = State;

    fn start(&self) -> State {
        State::default()
    }

    fn feed(&self, state: &mut State, segment: Segment<'_>, _context: &Context, events: &mut Events) {
        let mut input = Input::new(&mut state.held, segment);
        self.harmony.run(&mut state.harmony, &mut input, events);
        input.hold(&mut state.held);
    }

    fn finish(&self, state: &mut State, _context: &Context, events: &mut Events) {
        let mut input = Input::last(&mut state.held);
        self.harmony.run(&mut state.harmony, &mut input, events);
        if Harmony::finish(&mut state.harmony, events) {
            Events::call_end(events);
        }
    }

    fn openers(&self) -> Vec<&'static str> {
        Vec::new()
    }

    fn is_opener(&self, id: u32) -> bool {
        self.openers.contains(&Some(id))
    }

    fn is_marker(&self, id: u32) -> bool {
        self.harmony.markers.of_id(id).is_some()
    }

    fn is_native_only(&self) -> bool {
        true
    }
}
