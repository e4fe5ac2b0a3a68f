//! Gemma 4: thoughts in channels, of which there may be several. A tool call ends a thought that is not closed.
//!
//! ```text
//! <|channel>thought
//! reasoning<channel|>answer <|channel>thought
//! more of it<channel|> goes on
//! ```

use serde::{Deserialize, Serialize};

use super::trim::{Part, Trim};
use crate::parse::{self, Build, Context, Input, Markers, Segment, Until};
use crate::reasoning::{Opening, ReasoningParser, Split, pass};

const OPEN: &str = "<|channel>";
const CLOSE: &str = "<channel|>";
const CALL: &str = "<|tool_call>";
/// The channel's name, which is no part of the thought.
const NAME: &str = "thought\n";

/// The parser.
pub struct Gemma4 {
    markers: Markers,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Mode {
    Answer,
    /// After the opening marker: the channel's name may come.
    Name,
    Reasoning,
}

/// Where the parser stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    mode: Mode,
    held: String,
    /// The thoughts: blanks at their end are text only if another follows.
    part: Part,
}

impl parse::State for State {
    fn is_valid(&self) -> bool {
        parse::are_bounded(&[&self.held]) && self.part.is_valid()
    }
}

impl Gemma4 {
    /// Looks the markers up in the vocabulary. `calls`: more markers that end a thought.
    #[must_use]
    pub fn new(calls: &[&'static str], build: Build<'_>) -> Self {
        Self { markers: Markers::new(&[&[OPEN, CLOSE, CALL], calls].concat(), build) }
    }

    fn run(&self, state: &mut State, input: &mut Input, out: &mut dyn Split) {
        loop {
            if state.mode == Mode::Name {
                let rest = input.rest();
                if rest.starts_with(NAME) {
                    input.advance(NAME.len());
                } else if NAME.starts_with(rest) && !input.is_final() {
                    return;
                } else if !rest.is_empty() && NAME.starts_with(rest) {
                    // Cut inside the name, or a channel of nothing else.
                    let length = rest.len();
                    input.advance(length);
                }
                state.mode = Mode::Reasoning;
            }
            let (text, until) = input.until(&self.markers);
            match state.mode {
                Mode::Answer if !text.is_empty() => out.answer(Segment::Text(text)),
                Mode::Answer => {}
                Mode::Name | Mode::Reasoning => out.reasoning(&state.part.text(Trim::End, text)),
            }
            match until {
                Until::Marker(index) if state.mode == Mode::Answer && out.in_call() => {
                    pass(&self.markers, index, out);
                }
                Until::Marker(index) => match self.markers.text(index) {
                    OPEN => state.mode = Mode::Name,
                    CLOSE => state.mode = Mode::Answer,
                    _ => {
                        state.mode = Mode::Answer;
                        pass(&self.markers, index, out);
                    }
                },
                Until::Special { id, text } if state.mode == Mode::Answer => {
                    out.answer(Segment::Special { id, text: &text });
                }
                Until::Special { .. } => {}
                Until::End => return,
            }
        }
    }
}

impl ReasoningParser for Gemma4 {
    type State = State;

    fn opening(&self, prompt: &[u32], build: Build<'_>) -> Opening {
        super::opening::of_prompt(prompt, OPEN, CLOSE, build)
    }

    fn start(&self, opening: Opening, _context: &Context) -> State {
        let mode = if opening == Opening::Open { Mode::Name } else { Mode::Answer };
        State { mode, held: String::new(), part: Part::default() }
    }

    fn feed(&self, state: &mut State, segment: Segment<'_>, out: &mut dyn Split) {
        let mut input = Input::new(&mut state.held, segment);
        self.run(state, &mut input, out);
        input.hold(&mut state.held);
    }

    fn finish(&self, state: &mut State, out: &mut dyn Split) {
        let mut input = Input::last(&mut state.held);
        self.run(state, &mut input, out);
    }

    fn is_reasoning(&self, state: &State) -> bool {
        state.mode != Mode::Answer
    }
}
