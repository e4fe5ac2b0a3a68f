//! Step 3: always thinks; the prompt opens the block, and only its end closes it.
//!
//! ```text
//! reasoning</think>answer
//! ```

use crate::reasoning::families::delimited::Spec;

pub const SPEC: Spec = Spec::THINK;
