//! GPT-OSS: the analysis channel of the harmony format. See [`crate::parse::harmony`].
//!
//! ```text
//! <|channel|>analysis<|message|>reasoning<|end|><|start|>assistant<|channel|>final<|message|>answer<|return|>
//! ```
//!
//! The answer's headers are taken off; messages to functions pass with theirs, for the tool parser.

use serde::{Deserialize, Serialize};

use super::opening;
use crate::parse::harmony::{self, Harmony, Header, Sink};
use crate::parse::{self, Build, Context, Input, Markers, Segment};
use crate::reasoning::{Opening, ReasoningParser, Split};

/// The parser.
pub struct OpenAiGptOss {
    harmony: Harmony,
}

/// Where the parser stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    harmony: harmony::State,
    held: String,
}

impl parse::State for State {
    fn is_valid(&self) -> bool {
        parse::are_bounded(&[&self.held]) && parse::State::is_valid(&self.harmony)
    }
}

struct Out<'o> {
    markers: &'o Markers,
    out: &'o mut dyn Split,
}

impl Out<'_> {
    fn marker(&mut self, index: usize) {
        let text = self.markers.text(index);
        match self.markers.special(index) {
            Some(id) => self.out.answer(Segment::Special { id, text }),
            None => self.out.answer(Segment::Text(text)),
        }
    }
}

impl Sink for Out<'_> {
    fn reasoning(&mut self, text: &str) {
        self.out.reasoning(text);
    }

    fn content(&mut self, text: &str) {
        self.out.answer(Segment::Text(text));
    }

    fn call(&mut self, header: &Header, after_text: bool) {
        self.marker(harmony::CHANNEL);
        if after_text {
            // Where no tool parser runs, the call is text like any other.
            self.out.answer(Segment::Text("\n"));
        }
        self.out.answer(Segment::Text(&header.address()));
        self.marker(harmony::MESSAGE);
    }

    fn arguments(&mut self, text: &str) {
        if !text.is_empty() {
            self.out.answer(Segment::Text(text));
        }
    }

    fn call_end(&mut self, marker: usize, _whole: bool) {
        // A marker that begins the next message is sent with that.
        if marker > harmony::MESSAGE {
            self.marker(marker);
        } else {
            self.marker(harmony::CALL);
        }
    }
}

impl OpenAiGptOss {
    /// Looks the format's markers up in the vocabulary.
    #[must_use]
    pub fn new(build: Build<'_>) -> Self {
        Self { harmony: Harmony::new(build) }
    }
}

impl ReasoningParser for OpenAiGptOss {
    type State = State;

    fn opening(&self, _prompt: &[u32], _build: Build<'_>) -> Opening {
        // The prompt ends inside a header, whatever was thought before.
        Opening::Neutral
    }

    /// The header of the final channel ends it.
    fn ends(&self, output: &[u32], build: Build<'_>) -> bool {
        let tail = &output[output.len().saturating_sub(opening::TAIL)..];
        let bytes: Vec<u8> = tail.iter().flat_map(|&id| build.vocabulary.bytes(id)).copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        let header = text.strip_suffix("<|message|>").and_then(|text| text.rsplit_once("<|channel|>"));
        header.is_some_and(|(_, channel)| channel.trim_start().starts_with("final"))
    }

    fn start(&self, _opening: Opening, _context: &Context) -> State {
        State::default()
    }

    fn feed(&self, state: &mut State, segment: Segment<'_>, out: &mut dyn Split) {
        let mut input = Input::new(&mut state.held, segment);
        let mut sink = Out { markers: &self.harmony.markers, out };
        self.harmony.run(&mut state.harmony, &mut input, &mut sink);
        input.hold(&mut state.held);
    }

    fn finish(&self, state: &mut State, out: &mut dyn Split) {
        let mut input = Input::last(&mut state.held);
        let mut sink = Out { markers: &self.harmony.markers, out };
        self.harmony.run(&mut state.harmony, &mut input, &mut sink);
        Harmony::finish(&mut state.harmony, &mut sink);
    }

    fn is_reasoning(&self, state: &State) -> bool {
        state.harmony.is_reasoning()
    }
}
