//! Step 3: always thinks; the prompt opens the block, and only its end closes it.
//!
//! ```text
//! reasoning</think>answer
//! ```

use super::delimited::{Spec, Unmarked};

pub const SPEC: Spec =
    Spec { open: "<think>", close: "</think>", interrupt: &[], unmarked: Unmarked::Reasoning, switch: false };
