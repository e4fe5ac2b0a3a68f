//! Command A and Command R of 2024 and 2025: all parts have markers of their own.
//!
//! ```text
//! <|START_THINKING|>reasoning<|END_THINKING|><|START_RESPONSE|>answer<|END_RESPONSE|>
//! ```

use crate::reasoning::families::framed::{Spec, Trim};

pub const SPEC: Spec = Spec {
    open: &["<|START_THINKING|>"],
    close: &["<|END_THINKING|>"],
    interrupt: &["<|START_ACTION|>"],
    frame_open: &["<|START_RESPONSE|>", "<|START_TEXT|>"],
    frame_close: &["<|END_RESPONSE|>", "<|END_TEXT|>"],
    recurs: true,
    trim_reasoning: Trim::End,
    trim_answer: Trim::End,
    ..Spec::NONE
};
