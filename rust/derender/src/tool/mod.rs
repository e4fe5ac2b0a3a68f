//! Tool-call parsers: families as code, models as constants.
//!
//! # How to add a model
//!
//! 1. `tool/formats/NAME.rs`: a doc comment that shows the wire form, and `pub const SPEC` of its family's `Spec`.
//! 2. `mod NAME;` in `formats/mod.rs`, its name in [`NAMES`] and one line in [`build`], by the name that vLLM's
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
//! A family is a file in `families/` with a `Spec`, a compiled parser that keeps its [`Markers`](crate::parse::Markers), a
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

pub mod families;
mod forced;
mod formats;

use std::sync::Arc;

pub use families::call_object::{CallObject, Keys};
pub use forced::{Forced, Form};

use crate::parse::{AnyState, Build, Context, Events, Segment, State};
use families::braced::Braced;
use families::json_block::JsonBlock;
use families::mistral::Mistral;
use families::openai::OpenAi;
use families::python_list::PythonList;
use families::sectioned::Sectioned;
use families::tagged::Tagged;

/// What a parser is built from.
pub type ToolBuild<'v> = Build<'v>;

/// The parsers' names, as vLLM's `--tool-call-parser` has them.
pub const NAMES: &[&str] = &[
    "apertus",
    "cohere_command3",
    "cohere_command4",
    "deepseek_v3",
    "deepseek_v31",
    "deepseek_v32",
    "deepseek_v4",
    "ernie45",
    "functiongemma",
    "gemma4",
    "glm45",
    "glm47",
    "granite",
    "granite4",
    "hermes",
    "hunyuan_a13b",
    "internlm",
    "jamba",
    "kimi_k2",
    "lfm2",
    "llama3_json",
    "llama4_json",
    "llama4_pythonic",
    "mimo",
    "minimax_m2",
    "mistral",
    "olmo3",
    "openai",
    "phi4_mini_json",
    "pythonic",
    "qwen3_coder",
    "qwen3_xml",
    "seed_oss",
    "step3",
    "step3p5",
    "xlam",
];

/// Builds a parser by its name.
#[must_use]
pub fn build(name: &str, build: ToolBuild<'_>) -> Option<Arc<dyn AnyToolParser>> {
    Some(match name {
        "apertus" => Arc::new(JsonBlock::new(formats::apertus::SPEC, build)),
        "cohere_command3" => Arc::new(JsonBlock::new(formats::cohere_command3::SPEC, build)),
        "cohere_command4" => Arc::new(JsonBlock::new(formats::cohere_command4::SPEC, build)),
        "deepseek_v3" => Arc::new(Sectioned::new(formats::deepseek_v3::SPEC, build)),
        "deepseek_v31" => Arc::new(Sectioned::new(formats::deepseek_v31::SPEC, build)),
        "deepseek_v32" => Arc::new(Tagged::new(formats::deepseek_v32::SPEC, build)),
        "deepseek_v4" => Arc::new(Tagged::new(formats::deepseek_v4::SPEC, build)),
        "ernie45" => Arc::new(JsonBlock::new(formats::ernie45::SPEC, build)),
        "functiongemma" => Arc::new(Braced::new(formats::functiongemma::SPEC, build)),
        "gemma4" => Arc::new(Braced::new(formats::gemma4::SPEC, build)),
        "glm45" => Arc::new(Tagged::new(formats::glm45::SPEC, build)),
        "glm47" => Arc::new(Tagged::new(formats::glm47::SPEC, build)),
        "granite" => Arc::new(JsonBlock::new(formats::granite::SPEC, build)),
        "granite4" => Arc::new(JsonBlock::new(formats::granite4::SPEC, build)),
        "hermes" => Arc::new(JsonBlock::new(formats::hermes::SPEC, build)),
        "hunyuan_a13b" => Arc::new(JsonBlock::new(formats::hunyuan_a13b::SPEC, build)),
        "internlm" => Arc::new(JsonBlock::new(formats::internlm::SPEC, build)),
        "jamba" => Arc::new(JsonBlock::new(formats::jamba::SPEC, build)),
        "kimi_k2" => Arc::new(Sectioned::new(formats::kimi_k2::SPEC, build)),
        "lfm2" => Arc::new(PythonList::new(formats::lfm2::SPEC, build)),
        "llama3_json" => Arc::new(JsonBlock::new(formats::llama3_json::SPEC, build)),
        "llama4_json" => Arc::new(JsonBlock::new(formats::llama4_json::SPEC, build)),
        "llama4_pythonic" => Arc::new(PythonList::new(formats::llama4_pythonic::SPEC, build)),
        "mimo" => Arc::new(Tagged::new(formats::mimo::SPEC, build)),
        "minimax_m2" => Arc::new(Tagged::new(formats::minimax_m2::SPEC, build)),
        "mistral" => Arc::new(Mistral::new(build)),
        "olmo3" => Arc::new(PythonList::new(formats::olmo3::SPEC, build)),
        "openai" => Arc::new(OpenAi::new(build)),
        "phi4_mini_json" => Arc::new(JsonBlock::new(formats::phi4_mini_json::SPEC, build)),
        "pythonic" => Arc::new(PythonList::new(formats::pythonic::SPEC, build)),
        "qwen3_coder" | "qwen3_xml" => Arc::new(Tagged::new(formats::qwen3_coder::SPEC, build)),
        "seed_oss" => Arc::new(Tagged::new(formats::seed_oss::SPEC, build)),
        "step3" => Arc::new(Tagged::new(formats::step3::SPEC, build)),
        "step3p5" => Arc::new(Tagged::new(formats::step3p5::SPEC, build)),
        "xlam" => Arc::new(JsonBlock::new(formats::xlam::SPEC, build)),
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

    /// The markers that calls begin with. They end a thought that the model has not closed.
    fn openers(&self) -> Vec<&'static str>;

    /// Whether a special token is a marker of this model's calls. Where no call is looked for, it is text.
    fn is_marker(&self, id: u32) -> bool {
        self.is_opener(id)
    }

    /// Whether a special token is text of the answer, also where calls are looked for.
    fn is_text(&self, _id: u32) -> bool {
        false
    }

    /// Whether a forced call comes in the model's own form only, and JSON is an answer.
    fn is_native_only(&self) -> bool {
        false
    }

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
    /// See [`ToolParser::openers`].
    fn openers(&self) -> Vec<&'static str>;
    /// See [`ToolParser::is_marker`].
    fn is_marker(&self, id: u32) -> bool;
    /// See [`ToolParser::is_text`].
    fn is_text(&self, id: u32) -> bool;
    /// See [`ToolParser::is_native_only`].
    fn is_native_only(&self) -> bool;
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

    fn openers(&self) -> Vec<&'static str> {
        ToolParser::openers(self)
    }

    fn is_marker(&self, id: u32) -> bool {
        ToolParser::is_marker(self, id)
    }

    fn is_text(&self, id: u32) -> bool {
        ToolParser::is_text(self, id)
    }

    fn is_native_only(&self) -> bool {
        ToolParser::is_native_only(self)
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
