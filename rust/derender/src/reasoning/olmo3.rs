//! Olmo 3 Think: the template opens the block. The markers are plain text of several tokens.
//!
//! ```text
//! <think>reasoning</think>
//! answer
//! ```

use super::delimited::{Spec, Unmarked};

pub const SPEC: Spec =
    Spec { open: "<think>", close: "</think>", interrupt: &[], unmarked: Unmarked::Reasoning, switch: false };
