//! GLM 4.5 and 4.6: thinks from the first token on unless the request or the prompt says otherwise.
//!
//! ```text
//! <think>reasoning</think>
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
