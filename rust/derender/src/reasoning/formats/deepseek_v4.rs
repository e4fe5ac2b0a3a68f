//! DeepSeek V4: thinks from the first token on unless the request or the prompt says otherwise; a tool call ends the
//! thinking.
//!
//! ```text
//! reasoning</think>answer
//! ```

use crate::reasoning::families::delimited::{Again, Spec, Trim};

pub const SPEC: Spec = Spec {
    interrupt: &["<｜DSML｜tool_calls>"],
    switch: true,
    again: Again::Reasoning,
    trim: Trim::End,
    ..Spec::THINK
};
