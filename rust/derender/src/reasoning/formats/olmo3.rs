//! Olmo 3 Think: the template opens the block. The markers are plain text of several tokens.
//!
//! ```text
//! <think>reasoning</think>
//! answer
//! ```

use crate::reasoning::families::delimited::Spec;

pub const SPEC: Spec = Spec::THINK;
