//! Reasoning parsers: what is thought, and what is answered.
//!
//! # How to add a model
//!
//! 1. `reasoning/NAME.rs`: a doc comment that shows the wire form, and `pub const SPEC` of its family's `Spec`.
//! 2. `mod NAME;` below, its name in [`NAMES`] and one line in [`build`], by the name that vLLM's `--reasoning-parser`
//!    has for it.
//! 3. `tests/fixtures/reasoning/NAME.toml`.
//!
//! A family implements [`ReasoningParser`]: it gets segments and hands each piece to the [`Split`] as reasoning or
//! passes it on to the tool parser, special tokens included. The rules are those of [`crate::tool`].

mod cohere_command3;
mod cohere_command4;
mod deepseek_r1;
pub mod delimited;
mod ernie45;
pub mod framed;
mod granite;
mod hunyuan_a13b;
mod mistral;
pub mod opening;
mod qwen3;

use std::sync::Arc;

use crate::parse::{AnyState, Build, Context, Segment, State};
use delimited::Delimited;
use framed::Framed;

/// The parsers' names, as vLLM's `--reasoning-parser` has them.
pub const NAMES: &[&str] = &[
    "cohere_command3",
    "cohere_command4",
    "deepseek_r1",
    "ernie45",
    "granite",
    "hunyuan_a13b",
    "mistral",
    "qwen3",
];

/// Builds a parser by its name.
#[must_use]
pub fn build(name: &str, build: Build<'_>) -> Option<Arc<dyn AnyReasoningParser>> {
    Some(match name {
        "cohere_command3" => Arc::new(Framed::new(cohere_command3::SPEC, build)),
        "cohere_command4" => Arc::new(Framed::new(cohere_command4::SPEC, build)),
        "deepseek_r1" => Arc::new(Delimited::new(deepseek_r1::SPEC, build)),
        "ernie45" => Arc::new(Framed::new(ernie45::SPEC, build)),
        "granite" => Arc::new(Framed::new(granite::SPEC, build)),
        "hunyuan_a13b" => Arc::new(Framed::new(hunyuan_a13b::SPEC, build)),
        "mistral" => Arc::new(Framed::new(mistral::SPEC, build)),
        "qwen3" => Arc::new(Delimited::new(qwen3::SPEC, build)),
        _ => return None,
    })
}

/// Where a reasoning parser puts what it has read.
pub trait Split {
    /// Text of the reasoning.
    fn reasoning(&mut self, text: &str);
    /// A piece of the answer, for the tool parser.
    fn answer(&mut self, segment: Segment<'_>);
}

/// What the end of the prompt leaves to the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// The last turn opened a reasoning block and did not close it.
    Open,
    /// The last turn closed one: the answer begins at once.
    Closed,
    /// The last turn holds no marker, or the prompt is not known.
    Neutral,
}

/// A parser of reasoning: an immutable spec. All that changes is in the state.
pub trait ReasoningParser: Send + Sync {
    type State: State;

    /// What the prompt leaves open.
    fn opening(&self, prompt: &[u32], build: Build<'_>) -> Opening;

    /// The state before any output.
    fn start(&self, opening: Opening, context: &Context) -> Self::State;

    /// Reads the next segment of the output.
    fn feed(&self, state: &mut Self::State, segment: Segment<'_>, out: &mut dyn Split);

    /// No more comes: what is held goes out.
    fn finish(&self, state: &mut Self::State, out: &mut dyn Split);

    /// Whether the next token would be reasoning.
    fn is_reasoning(&self, state: &Self::State) -> bool;
}

/// A [`ReasoningParser`] of any state.
pub trait AnyReasoningParser: Send + Sync {
    /// See [`ReasoningParser::opening`].
    fn opening(&self, prompt: &[u32], build: Build<'_>) -> Opening;
    /// See [`ReasoningParser::opening`] and [`ReasoningParser::start`].
    fn start(&self, prompt: &[u32], context: &Context, build: Build<'_>) -> AnyState;
    /// See [`ReasoningParser::feed`].
    fn feed(&self, state: &mut AnyState, segment: Segment<'_>, out: &mut dyn Split);
    /// See [`ReasoningParser::finish`].
    fn finish(&self, state: &mut AnyState, out: &mut dyn Split);
    /// See [`ReasoningParser::is_reasoning`].
    fn is_reasoning(&self, state: &mut AnyState) -> bool;
    /// The state as bytes.
    fn save(&self, state: &AnyState) -> Vec<u8>;
    /// The state that [`AnyReasoningParser::save`] wrote; none where the bytes are something else.
    fn load(&self, bytes: &[u8]) -> Option<AnyState>;
}

impl<P: ReasoningParser> AnyReasoningParser for P {
    fn opening(&self, prompt: &[u32], build: Build<'_>) -> Opening {
        ReasoningParser::opening(self, prompt, build)
    }

    fn start(&self, prompt: &[u32], context: &Context, build: Build<'_>) -> AnyState {
        AnyState::new(ReasoningParser::start(self, ReasoningParser::opening(self, prompt, build), context))
    }

    fn feed(&self, state: &mut AnyState, segment: Segment<'_>, out: &mut dyn Split) {
        ReasoningParser::feed(self, own(self, state), segment, out);
    }

    fn finish(&self, state: &mut AnyState, out: &mut dyn Split) {
        ReasoningParser::finish(self, own(self, state), out);
    }

    fn is_reasoning(&self, state: &mut AnyState) -> bool {
        ReasoningParser::is_reasoning(self, own(self, state))
    }

    fn save(&self, state: &AnyState) -> Vec<u8> {
        state.save::<P::State>()
    }

    fn load(&self, bytes: &[u8]) -> Option<AnyState> {
        AnyState::load::<P::State>(bytes)
    }
}

fn own<'s, P: ReasoningParser>(parser: &P, state: &'s mut AnyState) -> &'s mut P::State {
    state.get(|| ReasoningParser::start(parser, Opening::Neutral, &Context::default()))
}
