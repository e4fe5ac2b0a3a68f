//! DeepSeek R1: thinks from the first token on; the template or the model opens the block.
//!
//! ```text
//! <think>
//! reasoning
//! </think>
//! answer
//! ```

use super::delimited::{Spec, Unmarked};

pub const SPEC: Spec =
    Spec { open: "<think>", close: "</think>", interrupt: &[], unmarked: Unmarked::Reasoning, switch: false };
