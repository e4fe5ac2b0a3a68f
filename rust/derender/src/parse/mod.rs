//! What all parsers of model output share: segments in, events out, markers between them.

pub mod escaped;
mod events;
pub mod harmony;
mod input;
pub mod json;
mod lead;
pub mod python;
mod python_atom;
pub mod python_string;
mod state;
mod unescape;

pub use events::{Event, Events};
pub use input::{Input, Marker, Markers, Until};
pub use lead::{Lead, take_lead};
pub use state::AnyState;
pub use unescape::Unescape;

use dragoman_tokenizer::Vocabulary;
use serde::{Deserialize, Serialize};

/// A piece of model output as it reaches a parser.
///
/// Special tokens (`"special": true` in `tokenizer.json`) come as such, so that text that merely looks like one cannot
/// be taken for it. Added tokens that are not special, such as Qwen's `<tool_call>`, are text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Segment<'t> {
    /// Text, cut anywhere.
    Text(&'t str),
    /// A special token and its text.
    Special { id: u32, text: &'t str },
}

/// A tool of the request.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    pub name: String,
    /// The JSON schema of its parameters, null where there is none.
    pub parameters: serde_json::Value,
}

/// What a parser may know of the request.
#[derive(Debug, Clone, Default)]
pub struct Context {
    pub tools: Vec<Tool>,
    /// Tool calls in the conversation so far: models that number their calls go on counting from here.
    pub history_tool_calls: u32,
    /// `enable_thinking` or `thinking` of the template's arguments, where one is set.
    pub thinking: Option<bool>,
    /// The whole of `chat_template_kwargs`.
    pub template_arguments: serde_json::Map<String, serde_json::Value>,
}

impl Context {
    /// The tool of a name.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// The schema of one parameter of a tool.
    #[must_use]
    pub fn parameter(&self, tool: &str, parameter: &str) -> Option<&serde_json::Value> {
        self.tool(tool)?.parameters.get("properties")?.get(parameter)
    }
}

/// A parser's state: plain, small, without the output so far.
pub trait State: Serialize + for<'de> Deserialize<'de> + Clone + Send + 'static {
    /// Whether a parser can be in this state: bytes that a client carried may decode to texts that are too long, or
    /// places outside of them.
    fn is_valid(&self) -> bool;
}

/// Bytes that no parser's held text exceeds: the longest is a call's arguments while its name is still to come.
const MAX_HELD: usize = 32 * 1024;

/// Whether these held texts may be a parser's.
#[must_use]
pub fn are_bounded(texts: &[&str]) -> bool {
    texts.iter().all(|text| text.len() <= MAX_HELD)
}

/// What a parser is built from: the vocabulary tells which of its markers are special tokens.
#[derive(Clone, Copy)]
pub struct Build<'v> {
    pub tokenizer: &'v dragoman_tokenizer::Tokenizer,
    pub vocabulary: &'v Vocabulary,
}
