//! Tool-call parsers: families as code, models as constants.
//!
//! # How to add a model
//!
//! 1. `tool/NAME.rs`: a doc comment that shows the wire form, and `pub const SPEC` of its family's `Spec`.
//! 2. `mod NAME;` below, its name in [`NAMES`] and one line in [`build`], by the name that vLLM's
//!    `--tool-call-parser` has for it.
//! 3. `tests/fixtures/tool/NAME.toml` at the root of the repository: outputs and what they mean, with their source.
//!    `hermes.toml` shows the form; the fields are written down in this crate's `tests/fixtures.rs`.
//!
//! `cargo test -p dragoman-derender` then runs the fixtures and, where `../shared` is there, every
//! `conformance/derender/NAME__*.jsonl`: one-shot, in chunks of every size, with the state written out and read back
//! between them.
//!
//! `DRAGOMAN_CASES=NAME cargo test -p dragoman-derender --test conformance -- --nocapture` shows what differs. A case
//! that is answered otherwise on purpose goes into `tests/conformance/differences.toml`, with the reason.
//!
//! # How to add a family
//!
//! A family is a file here with a `Spec`, a compiled parser that keeps its [`Markers`](crate::parse::Markers), a
//! plain `State` (derive `Serialize, Deserialize, Clone, Default`) and an implementation of [`ToolParser`]. The rules:
//!
//! * `feed` gets segments cut anywhere and must come to the same events for every cut. [`Input`](crate::parse::Input)
//!   does the holding back: read with `until(markers)`, or look at `rest()` and `advance`; what is left unread is held
//!   for the next segment (`hold`). Hold only what is undecided; never the output so far.
//! * A special token comes as [`Segment::Special`]; a marker that is one in this vocabulary matches by its id only
//!   ([`Markers`](crate::parse::Markers) sees to that). A special token that no marker claims is not text: drop it,
//!   unless it stands inside a value.
//! * Arguments go out as they come. A format that is not JSON writes JSON: the opening brace, keys and values as each
//!   is complete; a value that needs its end to be typed is held, and nothing else is. Schemas are in [`Context`].
//! * `ToolCallEnd` only when the call is whole. Malformed text before a call has begun is content with its markers;
//!   after that it is passed on as arguments, and the call gets no end.
//! * White space before and after calls needs no care: the message drops it.
//! * No panics, no recursion on input, time linear in the output.

pub mod braced;
mod braced_arguments;
mod call_object;
mod deepseek_v31;
mod deepseek_v32;
mod deepseek_v3;
mod deepseek_v4;
mod forced;
mod functiongemma;
mod gemma4;
mod glm45;
mod glm47;
mod hermes;
pub mod json_block;
mod kimi_k2;
mod lfm2;
mod llama4_pythonic;
mod mimo;
mod minimax_m2;
mod olmo3;
mod openai;
mod python_call;
pub mod python_list;
mod pythonic;
mod qwen3_coder;
pub mod sectioned;
mod seed_oss;
mod step3;
mod step3p5;
pub mod tagged;
mod typing;

use std::sync::Arc;

pub use call_object::{CallObject, Keys};
pub use forced::{Forced, Form};

use crate::parse::{AnyState, Build, Context, Events, Segment, State};
use braced::Braced;
use json_block::JsonBlock;
use openai::OpenAi;
use python_list::PythonList;
use sectioned::Sectioned;
use tagged::Tagged;

/// What a parser is built from.
pub type ToolBuild<'v> = Build<'v>;

/// The parsers' names, as vLLM's `--tool-call-parser` has them.
pub const NAMES: &[&str] = &[
    "deepseek_v3",
    "deepseek_v31",
    "deepseek_v32",
    "deepseek_v4",
    "functiongemma",
    "gemma4",
    "glm45",
    "glm47",
    "hermes",
    "kimi_k2",
    "lfm2",
    "llama4_pythonic",
    "mimo",
    "minimax_m2",
    "olmo3",
    "openai",
    "pythonic",
    "qwen3_coder",
    "qwen3_xml",
    "seed_oss",
    "step3",
    "step3p5",
];

/// Builds a parser by its name.
#[must_use]
pub fn build(name: &str, build: ToolBuild<'_>) -> Option<Arc<dyn AnyToolParser>> {
    Some(match name {
        "deepseek_v3" => Arc::new(Sectioned::new(deepseek_v3::SPEC, build)),
        "deepseek_v31" => Arc::new(Sectioned::new(deepseek_v31::SPEC, build)),
        "deepseek_v32" => Arc::new(Tagged::new(deepseek_v32::SPEC, build)),
        "deepseek_v4" => Arc::new(Tagged::new(deepseek_v4::SPEC, build)),
        "functiongemma" => Arc::new(Braced::new(functiongemma::SPEC, build)),
        "gemma4" => Arc::new(Braced::new(gemma4::SPEC, build)),
        "glm45" => Arc::new(Tagged::new(glm45::SPEC, build)),
        "glm47" => Arc::new(Tagged::new(glm47::SPEC, build)),
        "hermes" => Arc::new(JsonBlock::new(hermes::SPEC, build)),
        "kimi_k2" => Arc::new(Sectioned::new(kimi_k2::SPEC, build)),
        "lfm2" => Arc::new(PythonList::new(lfm2::SPEC, build)),
        "llama4_pythonic" => Arc::new(PythonList::new(llama4_pythonic::SPEC, build)),
        "mimo" => Arc::new(Tagged::new(mimo::SPEC, build)),
        "minimax_m2" => Arc::new(Tagged::new(minimax_m2::SPEC, build)),
        "olmo3" => Arc::new(PythonList::new(olmo3::SPEC, build)),
        "openai" => Arc::new(OpenAi::new(build)),
        "pythonic" => Arc::new(PythonList::new(pythonic::SPEC, build)),
        "qwen3_coder" | "qwen3_xml" => Arc::new(Tagged::new(qwen3_coder::SPEC, build)),
        "seed_oss" => Arc::new(Tagged::new(seed_oss::SPEC, build)),
        "step3" => Arc::new(Tagged::new(step3::SPEC, build)),
        "step3p5" => Arc::new(Tagged::new(step3p5::SPEC, build)),
        _ => return None,
    })
}

/// A parser of tool calls: an immutable spec. All that changes is in the state.
pub trait ToolParser: Send + Sync {
    type State: State;

    /// The state before any output.
    fn start(&self) -> Self::State;

    /// Reads the next segment of the answer, reasoning already taken out.
    fn feed(&self, state: &mut Self::State, segment: Segment<'_>, context: &Context, events: &mut Events);

    /// No more comes: what is held goes out.
    fn finish(&self, state: &mut Self::State, context: &Context, events: &mut Events);

    /// Whether this special token opens a call in the model's own form. See [`Forced`].
    fn is_opener(&self, id: u32) -> bool;

    /// Whether the model's own form of a call may begin with `{` or `[`. See [`Forced`].
    fn begins_with_json(&self) -> bool {
        false
    }
}

/// A [`ToolParser`] of any state.
pub trait AnyToolParser: Send + Sync {
    /// See [`ToolParser::start`].
    fn start(&self) -> AnyState;
    /// See [`ToolParser::feed`].
    fn feed(&self, state: &mut AnyState, segment: Segment<'_>, context: &Context, events: &mut Events);
    /// See [`ToolParser::finish`].
    fn finish(&self, state: &mut AnyState, context: &Context, events: &mut Events);
    /// See [`ToolParser::is_opener`].
    fn is_opener(&self, id: u32) -> bool;
    /// See [`ToolParser::begins_with_json`].
    fn begins_with_json(&self) -> bool;
    /// The state as bytes.
    fn save(&self, state: &AnyState) -> Vec<u8>;
    /// The state that [`AnyToolParser::save`] wrote; none where the bytes are something else.
    fn load(&self, bytes: &[u8]) -> Option<AnyState>;
}

impl<P: ToolParser> AnyToolParser for P {
    fn start(&self) -> AnyState {
        AnyState::new(ToolParser::start(self))
    }

    fn feed(&self, state: &mut AnyState, segment: Segment<'_>, context: &Context, events: &mut Events) {
        ToolParser::feed(self, state.get(|| ToolParser::start(self)), segment, context, events);
    }

    fn finish(&self, state: &mut AnyState, context: &Context, events: &mut Events) {
        ToolParser::finish(self, state.get(|| ToolParser::start(self)), context, events);
    }

    fn is_opener(&self, id: u32) -> bool {
        ToolParser::is_opener(self, id)
    }

    fn begins_with_json(&self) -> bool {
        ToolParser::begins_with_json(self)
    }

    fn save(&self, state: &AnyState) -> Vec<u8> {
        state.save::<P::State>()
    }

    fn load(&self, bytes: &[u8]) -> Option<AnyState> {
        AnyState::load::<P::State>(bytes)
    }
}
