//! MiniMax M2: always thinks; the prompt opens the block.
//!
//! ```text
//! reasoning
//! </think>
//!
//! answer
//! ```

use super::delimited::{Spec, Unmarked};

pub const SPEC: Spec = Spec {
    open: "<think>",
    close: "</think>",
    interrupt: &["<minimax:tool_call>"],
    unmarked: Unmarked::Reasoning,
    switch: false,
};
