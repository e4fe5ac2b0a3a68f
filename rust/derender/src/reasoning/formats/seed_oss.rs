//! Seed OSS:
//!
//! ```text
//! <seed:think>reasoning</seed:think>answer
//! ```

use crate::reasoning::families::delimited::{Again, Spec};

pub const SPEC: Spec = Spec {
    open: "<seed:think>",
    close: "</seed:think>",
    interrupt: &["<seed:tool_call>"],
    switch: true,
    again: Again::Dropped,
    ..Spec::THINK
};
