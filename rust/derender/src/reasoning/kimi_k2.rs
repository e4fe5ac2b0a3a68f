//! Kimi K2 Thinking: thinks from the first token on, unless `thinking: false` is asked for; a section of tool calls
//! ends the thinking.
//!
//! ```text
//! <think>reasoning</think>answer
//! ```

use super::delimited::{Spec, Unmarked};

pub const SPEC: Spec = Spec {
    open: "<think>",
    close: "</think>",
    interrupt: &["<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"],
    unmarked: Unmarked::Reasoning,
    switch: true,
};
