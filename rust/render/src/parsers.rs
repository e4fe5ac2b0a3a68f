//! What the output parsers of a model ask of the render side.

use dragoman_protocol::{ChatRequest, Result};

/// The reasoning parser, as far as the prompt is concerned.
pub trait Reasoning: Send + Sync {
    /// Whether generation starts after the reasoning: the prompt leaves no reasoning block open.
    fn ended(&self, prompt: &[u32]) -> bool;
}

/// The tool-call parser, as far as the request is concerned.
pub trait ToolGrammar: Send + Sync {
    /// The structural tag (as JSON) that makes the model call tools as the request demands, if it demands it.
    ///
    /// # Errors
    /// A bad-request error for tools that no grammar can be made of.
    fn structural_tag(&self, request: &ChatRequest<'_, '_>) -> Result<Option<String>>;
}
