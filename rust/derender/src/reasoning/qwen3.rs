//! Qwen 3: thinks from the first token on, unless the prompt closed the block; a tool call ends the thinking.
//!
//! ```text
//! <think>
//! reasoning
//! </think>
//!
//! answer
//! ```

use super::delimited::{Spec, Unmarked};

pub const SPEC: Spec = Spec {
    open: "<think>",
    close: "</think>",
    interrupt: &["<tool_call>"],
    unmarked: Unmarked::Reasoning,
    switch: true,
};
