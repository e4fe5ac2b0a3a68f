//! Granite 3: plain sentences open the reasoning and the answer.
//!
//! ```text
//! Here is my thought process: reasoning
//! Here is my response: answer
//! ```

use crate::reasoning::families::framed::{Spec, Trim};

pub const SPEC: Spec = Spec {
    open: &["Here is my thought process:", "Here's my thought process:"],
    close: &["Here is my response:", "Here's my response:"],
    interrupt: &["<|tool_call|>"],
    trim_reasoning: Trim::Both,
    trim_answer: Trim::Both,
    ..Spec::NONE
};
