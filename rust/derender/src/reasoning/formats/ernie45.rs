//! Ernie 4.5: thinks from the first token on, and answers in a frame; a tool call stands outside of it.
//!
//! ```text
//! reasoning
//! </think>
//!
//! <response>
//! answer
//! </response>
//! ```

use crate::reasoning::families::framed::{Spec, Trim, Unmarked};

pub const SPEC: Spec = Spec {
    open: &["<think>"],
    close: &["</think>"],
    frame_open: &["<response>"],
    frame_close: &["</response>"],
    trim_answer: Trim::Both,
    unmarked: Unmarked::Reasoning,
    ..Spec::NONE
};
