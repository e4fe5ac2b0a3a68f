//! Qwen 3: thinks from the first token on, unless the prompt closed the block; a tool call ends the thinking.
//!
//! ```text
//! <think>
//! reasoning
//! </think>
//!
//! answer
//! ```

use crate::reasoning::families::delimited::Spec;

pub const SPEC: Spec = Spec { interrupt: &["<tool_call>"], switch: true, ..Spec::THINK };
