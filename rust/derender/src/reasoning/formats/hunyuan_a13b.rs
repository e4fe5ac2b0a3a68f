//! Hunyuan A13B: the answer has a frame of its own.
//!
//! ```text
//! <think>
//! reasoning
//! </think>
//! <answer>
//! answer
//! </answer>
//! ```

use crate::reasoning::families::framed::{Spec, Trim};

pub const SPEC: Spec = Spec {
    open: &["<think>"],
    close: &["</think>"],
    interrupt: &["<tool_calls>"],
    frame_open: &["<answer>"],
    frame_close: &["</answer>"],
    trim_reasoning: Trim::Both,
    trim_answer: Trim::Both,
    ..Spec::NONE
};
