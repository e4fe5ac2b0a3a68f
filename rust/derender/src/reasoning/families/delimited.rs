//! The delimited family: reasoning stands between two markers.
//!
//! ```text
//! <think>reasoning</think>answer
//! reasoning</think>answer             (the prompt, or the model's habit, opened the block)
//! ```
//!
//! What markers in the answer are, [`Again`] says. In the arguments of a call they are the call's.

use serde::{Deserialize, Serialize};

use super::trim::Part;
pub use super::trim::Trim;
use crate::parse::{self, Build, Context, Input, Markers, Segment, Until};
use crate::reasoning::{Opening, ReasoningParser, Split, pass};

/// What output without any marker is, where the prompt does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unmarked {
    /// Reasoning: the model thinks from its first token on.
    Reasoning,
    /// The answer, unless the opening marker comes first.
    Answer,
}

/// What a marker is once the answer has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// Text: the block is read once.
    Text,
    /// The closing marker is never text, and dropped; the opening one is text.
    Dropped,
    /// The opening marker begins more reasoning, and the closing one is never text.
    Reasoning,
}

/// What tells one model of the family from another.
#[derive(Debug, Clone, Copy)]
pub struct Spec {
    pub open: &'static str,
    pub close: &'static str,
    /// Markers that end the reasoning without closing it, and belong to the answer: the opener of a tool call.
    pub interrupt: &'static [&'static str],
    pub unmarked: Unmarked,
    /// Whether `enable_thinking: false` in the request means that the answer begins at once.
    pub switch: bool,
    pub again: Again,
    /// Which blanks of the reasoning are no text.
    pub trim: Trim,
}

impl Spec {
    /// The tags that most models of the family have.
    pub const THINK: Self = Self {
        open: "<think>",
        close: "</think>",
        interrupt: &[],
        unmarked: Unmarked::Reasoning,
        switch: false,
        again: Again::Text,
        trim: Trim::Nothing,
    };
}

/// A compiled spec.
pub struct Delimited {
    spec: Spec,
    /// The opening marker, the closing marker, and the interrupting ones.
    markers: Markers,
    /// What counts in the answer: the closing marker, and the opening one where it opens more reasoning.
    answer: Markers,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Mode {
    /// Before the first text: an opening marker may come, and what it is otherwise is open.
    Start,
    Reasoning,
    Answer,
}

/// Where the parser stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    mode: Mode,
    held: String,
    /// The reasoning: blanks at its end are text only if it goes on.
    part: Part,
}

/// Blanks before the opening marker that are held back.
const MAX_BLANKS: usize = 64;

const OPEN: usize = 0;
const CLOSE: usize = 1;

impl parse::State for State {
    fn is_valid(&self) -> bool {
        parse::are_bounded(&[&self.held]) && self.part.is_valid()
    }
}

impl Delimited {
    /// Compiles a spec for a vocabulary. `calls`: more markers that interrupt the reasoning.
    #[must_use]
    pub fn new(spec: Spec, calls: &[&'static str], build: Build<'_>) -> Self {
        let texts = [&[spec.open, spec.close], spec.interrupt, calls].concat();
        let answer: &[&str] = match spec.again {
            Again::Text => &[],
            Again::Dropped => &[spec.close],
            Again::Reasoning => &[spec.close, spec.open],
        };
        Self { spec, markers: Markers::new(&texts, build), answer: Markers::new(answer, build) }
    }

    /// Reads the answer up to a marker that opens more reasoning. Whether there is one.
    fn answer(&self, state: &mut State, input: &mut Input, out: &mut dyn Split) -> bool {
        loop {
            let (text, until) = input.until(&self.answer);
            if !text.is_empty() {
                out.answer(Segment::Text(text));
            }
            match until {
                Until::Marker(index) if out.in_call() => pass(&self.answer, index, out),
                Until::Marker(index) if self.answer.text(index) == self.spec.close => {}
                Until::Marker(_) => {
                    state.mode = Mode::Reasoning;
                    return true;
                }
                Until::Special { id, text } => out.answer(Segment::Special { id, text: &text }),
                Until::End => return false,
            }
        }
    }

    fn run(&self, state: &mut State, input: &mut Input, out: &mut dyn Split) {
        loop {
            match state.mode {
                Mode::Answer => {
                    if !self.answer(state, input, out) {
                        return;
                    }
                }
                Mode::Start => {
                    // Only what the model writes first can open a block.
                    let blanks = input.rest().len() - input.rest().trim_start().len();
                    let text = &input.rest()[blanks..];
                    let open = self.markers.text(OPEN);
                    if blanks > MAX_BLANKS {
                        state.mode = Mode::Answer;
                    } else if self.markers.special(OPEN).is_none() && text.starts_with(open) {
                        input.advance(blanks + open.len());
                        state.mode = Mode::Reasoning;
                    } else if text.is_empty() && input.is_final() {
                        match input.take_special_after_blanks() {
                            Some((id, _)) if self.markers.of_id(id) == Some(OPEN) => {
                                state.mode = Mode::Reasoning;
                            }
                            Some((id, text)) => {
                                state.mode = Mode::Answer;
                                out.answer(Segment::Special { id, text: &text });
                            }
                            None => return,
                        }
                    } else if !input.is_final() && (text.is_empty() || open.starts_with(text)) {
                        return;
                    } else {
                        state.mode = Mode::Answer;
                    }
                }
                Mode::Reasoning => {
                    let (text, until) = input.until(&self.markers);
                    out.reasoning(&state.part.text(self.spec.trim, text));
                    match until {
                        // The opening marker inside reasoning, or once more, is no text of it.
                        Until::Marker(OPEN) | Until::Special { .. } => continue,
                        Until::Marker(CLOSE) => {}
                        Until::Marker(index) => pass(&self.markers, index, out),
                        Until::End => return,
                    }
                    state.mode = Mode::Answer;
                }
            }
        }
    }
}

impl ReasoningParser for Delimited {
    type State = State;

    fn opening(&self, prompt: &[u32], build: Build<'_>) -> Opening {
        super::opening::of_prompt(prompt, self.spec.open, self.spec.close, build)
    }

    fn start(&self, opening: Opening, context: &Context) -> State {
        let off = self.spec.switch && context.thinking == Some(false);
        let unmarked = match self.spec.unmarked {
            Unmarked::Reasoning if !off => Mode::Reasoning,
            Unmarked::Reasoning | Unmarked::Answer => Mode::Start,
        };
        let mode = match opening {
            // A template may open the block for a client that switched thinking off; the model then answers.
            Opening::Open if off => Mode::Start,
            Opening::Open => Mode::Reasoning,
            Opening::Closed => Mode::Answer,
            Opening::Neutral => unmarked,
        };
        State { mode, held: String::new(), part: Part::default() }
    }

    fn feed(&self, state: &mut State, segment: Segment<'_>, out: &mut dyn Split) {
        if state.mode == Mode::Answer && self.spec.again == Again::Text && state.held.is_empty() {
            out.answer(segment);
            return;
        }
        let mut input = Input::new(&mut state.held, segment);
        self.run(state, &mut input, out);
        input.hold(&mut state.held);
    }

    fn finish(&self, state: &mut State, out: &mut dyn Split) {
        let mut input = Input::last(&mut state.held);
        self.run(state, &mut input, out);
        if state.mode == Mode::Start {
            out.answer(Segment::Text(input.rest()));
        }
    }

    fn is_reasoning(&self, state: &State) -> bool {
        state.mode == Mode::Reasoning
    }
}
