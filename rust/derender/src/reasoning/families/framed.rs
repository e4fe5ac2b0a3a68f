//! The framed family: reasoning between markers, and the answer in a frame of its own.
//!
//! ```text
//! <think>reasoning</think><answer>answer</answer>
//! [THINK]reasoning[/THINK]answer[THINK]more[/THINK]answer          (recurs)
//! Here is my thought process: reasoning Here is my response: answer
//! ```
//!
//! The frame's markers are no text. Where they are not special tokens, only one that the answer begins with opens a
//! frame, and only one that ends it closes it: elsewhere the same words are text.

use serde::{Deserialize, Serialize};

pub use super::delimited::Unmarked;
use super::trim::Part;
pub use super::trim::Trim;
use crate::parse::{self, Build, Context, Input, Lead, Markers, Segment, Until, take_lead};
use crate::reasoning::{Opening, ReasoningParser, Split, pass};

/// What tells one model of the family from another.
#[derive(Debug, Clone, Copy)]
pub struct Spec {
    /// Any of these opens the reasoning.
    pub open: &'static [&'static str],
    /// Any of these closes it.
    pub close: &'static [&'static str],
    /// Markers that end the reasoning without closing it, and belong to the answer: the opener of a tool call.
    pub interrupt: &'static [&'static str],
    /// Any of these may open the answer; one that stands in the reasoning ends it.
    pub frame_open: &'static [&'static str],
    pub frame_close: &'static [&'static str],
    /// Whether the answer may think again.
    pub recurs: bool,
    /// Which blanks next to the markers are no text.
    pub trim_reasoning: Trim,
    pub trim_answer: Trim,
    pub unmarked: Unmarked,
    /// Whether `enable_thinking: false` in the request means that the answer begins at once.
    pub switch: bool,
}

impl Spec {
    /// No markers at all.
    pub const NONE: Self = Self {
        open: &[],
        close: &[],
        interrupt: &[],
        frame_open: &[],
        frame_close: &[],
        recurs: false,
        trim_reasoning: Trim::Nothing,
        trim_answer: Trim::Nothing,
        unmarked: Unmarked::Answer,
        switch: true,
    };
}

/// A compiled spec.
pub struct Framed {
    spec: Spec,
    /// How many markers interrupt the reasoning.
    interrupts: usize,
    open: Markers,
    /// What counts in the reasoning: closing, opening, interrupting markers and the frame's openers, in this order.
    reasoning: Markers,
    frame_open: Markers,
    frame_close: Markers,
    /// What counts in the answer: the frame's closers and openers, and what opens the reasoning again.
    answer: Markers,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Mode {
    /// Before the first text: an opening marker may come, and what it is otherwise is open.
    Start,
    Reasoning,
    /// Before the answer's first text, where its frame may open.
    Head,
    Answer,
    /// After the frame's closing marker, which is text if more text comes.
    Tail,
}

/// Where the parser stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    mode: Mode,
    held: String,
    /// The reasoning: blanks at its end are text only if it goes on.
    reasoning: Part,
    /// A part of the answer.
    part: Part,
    /// Whether the answer's frame is open.
    framed: bool,
    /// The frame's closing marker, by its place in the list.
    closer: u8,
}

/// Blanks before a marker that are held back.
const MAX_BLANKS: usize = 64;

impl parse::State for State {
    fn is_valid(&self) -> bool {
        parse::are_bounded(&[&self.held]) && self.reasoning.is_valid() && self.part.is_valid()
    }
}

impl Framed {
    /// Compiles a spec for a vocabulary. `calls`: more markers that interrupt the reasoning.
    #[must_use]
    pub fn new(spec: Spec, calls: &[&'static str], build: Build<'_>) -> Self {
        let interrupt = [spec.interrupt, calls].concat();
        let answer: &[&[&'static str]] =
            &[spec.frame_close, spec.frame_open, if spec.recurs { spec.open } else { &[] }];
        Self {
            spec,
            interrupts: interrupt.len(),
            open: Markers::new(spec.open, build),
            reasoning: Markers::new(&[spec.close, spec.open, &interrupt, spec.frame_open].concat(), build),
            frame_open: Markers::new(spec.frame_open, build),
            frame_close: Markers::new(spec.frame_close, build),
            answer: Markers::new(&answer.concat(), build),
        }
    }

    fn run(&self, state: &mut State, input: &mut Input, out: &mut dyn Split) {
        loop {
            let go_on = match state.mode {
                Mode::Start => self.start(state, input),
                Mode::Reasoning => self.reasoning(state, input, out),
                Mode::Head => self.head(state, input),
                Mode::Answer => self.answer(state, input, out),
                Mode::Tail => self.tail(state, input, out),
            };
            if !go_on {
                return;
            }
        }
    }

    fn enter(state: &mut State, mode: Mode) {
        state.mode = mode;
        state.part = Part::default();
    }

    fn start(&self, state: &mut State, input: &mut Input) -> bool {
        match take_lead(input, &self.open) {
            Lead::Marker(_) => Self::enter(state, Mode::Reasoning),
            Lead::Undecided if input.rest().len() <= MAX_BLANKS => return false,
            Lead::Undecided | Lead::Other => Self::enter(state, Mode::Head),
        }
        true
    }

    fn reasoning(&self, state: &mut State, input: &mut Input, out: &mut dyn Split) -> bool {
        let (text, until) = input.until(&self.reasoning);
        out.reasoning(&state.reasoning.text(self.spec.trim_reasoning, text));
        let (closes, opens) = (self.spec.close.len(), self.spec.open.len());
        match until {
            Until::Marker(index) if index < closes => Self::enter(state, Mode::Head),
            Until::Marker(index) if index < closes + opens => {
                // The opening marker once more is no text where the reasoning begins, and where it is a token.
                if state.reasoning.has_begun() && self.reasoning.special(index).is_none() {
                    out.reasoning(&state.reasoning.release());
                    out.reasoning(self.reasoning.text(index));
                }
            }
            Until::Marker(index) if index < closes + opens + self.interrupts => {
                Self::enter(state, Mode::Answer);
                pass(&self.reasoning, index, out);
            }
            Until::Marker(_) => {
                Self::enter(state, Mode::Answer);
                state.framed = true;
            }
            Until::Special { .. } => {}
            Until::End => return false,
        }
        true
    }

    fn head(&self, state: &mut State, input: &mut Input) -> bool {
        match take_lead(input, &self.frame_open) {
            Lead::Marker(_) => {
                Self::enter(state, Mode::Answer);
                state.framed = true;
            }
            Lead::Undecided if input.rest().len() <= MAX_BLANKS => return false,
            Lead::Undecided | Lead::Other => Self::enter(state, Mode::Answer),
        }
        true
    }

    fn answer(&self, state: &mut State, input: &mut Input, out: &mut dyn Split) -> bool {
        let (text, until) = input.until(&self.answer);
        out.answer(Segment::Text(&state.part.text(self.spec.trim_answer, text)));
        let (closes, opens) = (self.spec.frame_close.len(), self.spec.frame_open.len());
        match until {
            // In the arguments of a call it is the call's.
            Until::Marker(index) if out.in_call() => {
                Self::release(state, out);
                pass(&self.answer, index, out);
            }
            Until::Marker(index) if index >= closes + opens => {
                state.framed = false;
                Self::enter(state, Mode::Reasoning);
            }
            Until::Marker(index) if self.answer.special(index).is_some() => {
                state.framed = index >= closes;
                state.part = Part::default();
            }
            Until::Marker(index) if index < closes && state.framed => {
                state.closer = u8::try_from(index).unwrap_or_default();
                state.mode = Mode::Tail;
            }
            Until::Marker(index) => {
                Self::release(state, out);
                out.answer(Segment::Text(self.answer.text(index)));
            }
            Until::Special { id, text } => {
                Self::release(state, out);
                out.answer(Segment::Special { id, text: &text });
            }
            Until::End => return false,
        }
        true
    }

    fn tail(&self, state: &mut State, input: &mut Input, out: &mut dyn Split) -> bool {
        let blank = input.rest().trim_start().is_empty();
        if blank && input.rest().len() <= MAX_BLANKS {
            if let Some((id, text)) = input.take_special_after_blanks() {
                out.answer(Segment::Special { id, text: &text });
                return true;
            }
            return false;
        }
        // The frame goes on: what looked like its end is text.
        Self::release(state, out);
        out.answer(Segment::Text(self.frame_close.text(usize::from(state.closer))));
        state.mode = Mode::Answer;
        true
    }

    /// Blanks before something else than a marker are text.
    fn release(state: &mut State, out: &mut dyn Split) {
        out.answer(Segment::Text(&state.part.release()));
    }
}

impl ReasoningParser for Framed {
    type State = State;

    fn opening(&self, prompt: &[u32], build: Build<'_>) -> Opening {
        let (open, close) = (self.spec.open.first(), self.spec.close.first());
        match (open, close) {
            (Some(open), Some(close)) => super::opening::of_prompt(prompt, open, close, build),
            _ => Opening::Neutral,
        }
    }

    fn start(&self, opening: Opening, context: &Context) -> State {
        let off = self.spec.switch && context.thinking == Some(false);
        let mode = match (opening, self.spec.unmarked) {
            (Opening::Open, _) => Mode::Reasoning,
            (Opening::Closed, _) => Mode::Head,
            (Opening::Neutral, Unmarked::Reasoning) if !off => Mode::Reasoning,
            (Opening::Neutral, _) => Mode::Start,
        };
        State {
            mode,
            held: String::new(),
            reasoning: Part::default(),
            part: Part::default(),
            framed: false,
            closer: 0,
        }
    }

    fn feed(&self, state: &mut State, segment: Segment<'_>, out: &mut dyn Split) {
        let mut input = Input::new(&mut state.held, segment);
        self.run(state, &mut input, out);
        input.hold(&mut state.held);
    }

    fn finish(&self, state: &mut State, out: &mut dyn Split) {
        let mut input = Input::last(&mut state.held);
        self.run(state, &mut input, out);
        // Blanks at the end of a call that was cut are the call's.
        if state.mode == Mode::Answer && out.in_call() {
            Self::release(state, out);
        }
    }

    fn is_reasoning(&self, state: &State) -> bool {
        state.mode == Mode::Reasoning
    }
}
