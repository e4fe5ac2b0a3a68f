//! DeepSeek V4: thinks from the first token on unless the request or the prompt says otherwise; a tool call ends the
//! thinking.
//!
//! ```text
//! reasoning</think>answer
//! ```

use super::delimited::{Spec, Unmarked};

pub const SPEC: Spec = Spec {
    open: "<think>",
    close: "</think>",
    interrupt: &["<｜DSML｜tool_calls>"],
    unmarked: Unmarked::Reasoning,
    switch: true,
};
