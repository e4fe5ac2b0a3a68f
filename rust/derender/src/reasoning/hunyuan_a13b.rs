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

use super::framed::Spec;

pub const SPEC: Spec = Spec {
    open: &["<think>"],
    close: &["</think>"],
    interrupt: &["<tool_calls>"],
    frame_open: &["<answer>"],
    frame_close: &["</answer>"],
    trims: true,
    ..Spec::NONE
};
