//! DeepSeek R1: thinks from the first token on; the template or the model opens the block.
//!
//! ```text
//! <think>
//! reasoning
//! </think>
//! answer
//! ```

use crate::reasoning::families::delimited::Spec;

pub const SPEC: Spec = Spec::THINK;
