//! Magistral and Ministral: the answer may think again, and a tool call ends the reasoning.
//!
//! ```text
//! [THINK]reasoning[/THINK]answer
//! ```

use crate::reasoning::families::framed::{Spec, Trim};

pub const SPEC: Spec = Spec {
    open: &["[THINK]"],
    close: &["[/THINK]"],
    interrupt: &["[TOOL_CALLS]"],
    recurs: true,
    trim_reasoning: Trim::End,
    ..Spec::NONE
};
