//! Seed OSS:
//!
//! ```text
//! <seed:think>reasoning</seed:think>answer
//! ```

use super::delimited::{Spec, Unmarked};

pub const SPEC: Spec = Spec {
    open: "<seed:think>",
    close: "</seed:think>",
    interrupt: &["<seed:tool_call>"],
    unmarked: Unmarked::Reasoning,
    switch: true,
};
