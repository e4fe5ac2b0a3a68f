//! The kept family: reasoning stays in the answer, between its markers, for clients that send it back as it was.

use serde::{Deserialize, Serialize};

use crate::parse::{self, Build, Context, Segment};
use crate::reasoning::{Opening, ReasoningParser, Split};

/// What tells one model of the family from another.
#[derive(Debug, Clone, Copy)]
pub struct Spec {
    pub open: &'static str,
    pub close: &'static str,
}

/// A compiled spec.
pub struct Kept {
    spec: Spec,
}

/// Whether the opening marker, which the prompt has, is still to be written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    pending: bool,
}

impl parse::State for State {
    fn is_valid(&self) -> bool {
        true
    }
}

impl Kept {
    /// Compiles a spec.
    #[must_use]
    pub fn new(spec: Spec) -> Self {
        Self { spec }
    }
}

impl ReasoningParser for Kept {
    type State = State;

    fn opening(&self, prompt: &[u32], build: Build<'_>) -> Opening {
        super::opening::of_prompt(prompt, self.spec.open, self.spec.close, build)
    }

    fn start(&self, opening: Opening, _context: &Context) -> State {
        State { pending: opening != Opening::Closed }
    }

    fn feed(&self, state: &mut State, segment: Segment<'_>, out: &mut dyn Split) {
        if std::mem::take(&mut state.pending) {
            out.answer(Segment::Text(self.spec.open));
        }
        out.answer(segment);
    }

    fn finish(&self, _state: &mut State, _out: &mut dyn Split) {}

    fn is_reasoning(&self, _state: &State) -> bool {
        false
    }
}
