//! The delimited family for models whose closing marker is never text: one more of it in the answer is dropped.
//!
//! ```text
//! <think>reasoning</think>answer</think> goes on
//! ```

use serde::{Deserialize, Serialize};

use super::delimited::{self, Delimited, Spec};
use super::{Opening, ReasoningParser, Split};
use crate::parse::{Build, Context, Input, Markers, Segment, Until};

/// A compiled spec.
pub struct Absorbing {
    inner: Delimited,
    close: Markers,
}

/// Where the parser stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    inner: delimited::State,
    held: String,
}

/// Takes closing markers out of the answer.
struct Filter<'f> {
    close: &'f Markers,
    held: &'f mut String,
    out: &'f mut dyn Split,
}

impl Split for Filter<'_> {
    fn reasoning(&mut self, text: &str) {
        self.out.reasoning(text);
    }

    fn answer(&mut self, segment: Segment<'_>) {
        let mut input = Input::new(self.held, segment);
        loop {
            let (text, until) = input.until(self.close);
            if !text.is_empty() {
                self.out.answer(Segment::Text(text));
            }
            match until {
                Until::Marker(_) => {}
                Until::Special { id, text } => self.out.answer(Segment::Special { id, text: &text }),
                Until::End => break,
            }
        }
        input.hold(self.held);
    }
}

impl Absorbing {
    /// Compiles a spec for a vocabulary.
    #[must_use]
    pub fn new(spec: Spec, build: Build<'_>) -> Self {
        Self { inner: Delimited::new(spec, build), close: Markers::new(&[spec.close], build) }
    }
}

impl ReasoningParser for Absorbing {
    type State = State;

    fn opening(&self, prompt: &[u32], build: Build<'_>) -> Opening {
        ReasoningParser::opening(&self.inner, prompt, build)
    }

    fn start(&self, opening: Opening, context: &Context) -> State {
        State { inner: ReasoningParser::start(&self.inner, opening, context), held: String::new() }
    }

    fn feed(&self, state: &mut State, segment: Segment<'_>, out: &mut dyn Split) {
        let mut filter = Filter { close: &self.close, held: &mut state.held, out };
        ReasoningParser::feed(&self.inner, &mut state.inner, segment, &mut filter);
    }

    fn finish(&self, state: &mut State, out: &mut dyn Split) {
        let mut filter = Filter { close: &self.close, held: &mut state.held, out };
        ReasoningParser::finish(&self.inner, &mut state.inner, &mut filter);
        let held = std::mem::take(&mut state.held);
        if !held.is_empty() {
            out.answer(Segment::Text(&held));
        }
    }

    fn is_reasoning(&self, state: &State) -> bool {
        ReasoningParser::is_reasoning(&self.inner, &state.inner)
    }
}
