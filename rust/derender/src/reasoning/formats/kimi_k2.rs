//! Kimi K2 Thinking: thinks from the first token on, unless `thinking: false` is asked for; a section of tool calls
//! ends the thinking.
//!
//! ```text
//! <think>reasoning</think>answer
//! ```

use crate::reasoning::families::delimited::{Again, Spec};

pub const SPEC: Spec = Spec {
    interrupt: &["<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"],
    switch: true,
    again: Again::Dropped,
    ..Spec::THINK
};
