//! GLM 4.5 and 4.6: thinks from the first token on unless the request or the prompt says otherwise.
//!
//! ```text
//! <think>reasoning</think>
//! answer
//! ```

use crate::reasoning::families::delimited::{Again, Spec, Trim};

pub const SPEC: Spec = Spec {
    interrupt: &["<tool_call>"],
    switch: true,
    again: Again::Reasoning,
    trim: Trim::End,
    ..Spec::THINK
};
