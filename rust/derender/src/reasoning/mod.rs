//! Reasoning parsers: what is thought, and what is answered.
//!
//! # How to add a model
//!
//! 1. `reasoning/formats/NAME.rs`: a doc comment that shows the wire form, and `pub const SPEC` of its family's `Spec`.
//! 2. `mod NAME;` in `formats/mod.rs`, its name in [`NAMES`] and one line in [`build`], by the name that vLLM's `--reasoning-parser`
//!    has for it.
//! 3. `tests/fixtures/reasoning/NAME.toml`.
//!
//! A family implements [`ReasoningParser`]: it gets segments and hands each piece to the [`Split`] as reasoning or
//! passes it on to the tool parser, special tokens included. The rules are those of [`crate::tool`].

pub mod families;
mod formats;

use std::sync::Arc;

use crate::parse::{AnyState, Build, Context, Markers, Segment, State};
use families::delimited::Delimited;
use families::framed::Framed;
use families::gemma4::Gemma4;
use families::kept::Kept;
use families::openai_gptoss::OpenAiGptOss;

/// The parsers' names, as vLLM's `--reasoning-parser` has them.
pub const NAMES: &[&str] = &[
    "cohere_command3",
    "cohere_command4",
    "deepseek_r1",
    "deepseek_v3",
    "deepseek_v4",
    "ernie45",
    "gemma4",
    "glm45",
    "glm47",
    "granite",
    "hunyuan_a13b",
    "kimi_k2",
    "mimo",
    "minimax_m2",
    "minimax_m2_append_think",
    "mistral",
    "nemotron_v3",
    "olmo3",
    "openai_gptoss",
    "qwen3",
    "seed_oss",
    "step3",
    "step3p5",
];

/// Builds a parser by its name. `calls`: markers that tool calls begin with, which end a thought that the model has not
/// closed.
#[must_use]
pub fn build(name: &str, calls: &[&'static str], build: Build<'_>) -> Option<Arc<dyn AnyReasoningParser>> {
    Some(match name {
        "cohere_command3" => Arc::new(Framed::new(formats::cohere_command3::SPEC, calls, build)),
        "cohere_command4" => Arc::new(Framed::new(formats::cohere_command4::SPEC, calls, build)),
        "deepseek_r1" => Arc::new(Delimited::new(formats::deepseek_r1::SPEC, calls, build)),
        "deepseek_v3" => Arc::new(Delimited::new(formats::deepseek_v3::SPEC, calls, build)),
        "deepseek_v4" => Arc::new(Delimited::new(formats::deepseek_v4::SPEC, calls, build)),
        "ernie45" => Arc::new(Framed::new(formats::ernie45::SPEC, calls, build)),
        "gemma4" => Arc::new(Gemma4::new(calls, build)),
        "glm45" => Arc::new(Delimited::new(formats::glm45::SPEC, calls, build)),
        "glm47" => Arc::new(Delimited::new(formats::glm47::SPEC, calls, build)),
        "granite" => Arc::new(Framed::new(formats::granite::SPEC, calls, build)),
        "hunyuan_a13b" => Arc::new(Framed::new(formats::hunyuan_a13b::SPEC, calls, build)),
        "kimi_k2" => Arc::new(Delimited::new(formats::kimi_k2::SPEC, calls, build)),
        "mimo" => Arc::new(Delimited::new(formats::mimo::SPEC, calls, build)),
        "minimax_m2" => Arc::new(Delimited::new(formats::minimax_m2::SPEC, calls, build)),
        "minimax_m2_append_think" => Arc::new(Kept::new(formats::minimax_m2_append_think::SPEC)),
        "mistral" => Arc::new(Framed::new(formats::mistral::SPEC, calls, build)),
        "nemotron_v3" => Arc::new(Delimited::new(formats::nemotron_v3::SPEC, calls, build)),
        "olmo3" => Arc::new(Delimited::new(formats::olmo3::SPEC, calls, build)),
        "openai_gptoss" => Arc::new(OpenAiGptOss::new(build)),
        "qwen3" => Arc::new(Delimited::new(formats::qwen3::SPEC, calls, build)),
        "seed_oss" => Arc::new(Delimited::new(formats::seed_oss::SPEC, calls, build)),
        "step3" => Arc::new(Delimited::new(formats::step3::SPEC, calls, build)),
        "step3p5" => Arc::new(Delimited::new(formats::step3p5::SPEC, calls, build)),
        _ => return None,
    })
}

/// Where a reasoning parser puts what it has read.
pub trait Split {
    /// Text of the reasoning.
    fn reasoning(&mut self, text: &str);
    /// A piece of the answer, for the tool parser.
    fn answer(&mut self, segment: Segment<'_>);
    /// Whether the answer stands in the arguments of a call, where no marker of the reasoning counts.
    fn in_call(&self) -> bool;
}

/// Passes a marker on to the answer.
fn pass(markers: &Markers, index: usize, out: &mut dyn Split) {
    let text = markers.text(index);
    match markers.special(index) {
        Some(id) => out.answer(Segment::Special { id, text }),
        None => out.answer(Segment::Text(text)),
    }
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

    /// Whether these ids, the last of an output, bring its reasoning to an end.
    fn ends(&self, output: &[u32], build: Build<'_>) -> bool {
        self.opening(output, build) == Opening::Closed
    }

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
    /// See [`ReasoningParser::ends`].
    fn ends(&self, output: &[u32], build: Build<'_>) -> bool;
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

    fn ends(&self, output: &[u32], build: Build<'_>) -> bool {
        ReasoningParser::ends(self, output, build)
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
