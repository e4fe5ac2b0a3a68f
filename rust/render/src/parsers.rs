//! What the output parsers of a model ask of the render side.

/// The reasoning parser, as far as the prompt is concerned.
pub trait Reasoning: Send + Sync {
    /// Whether generation starts after the reasoning: the prompt leaves no reasoning block open.
    fn ended(&self, prompt: &[u32]) -> bool;
}
