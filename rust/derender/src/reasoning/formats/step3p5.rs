//! Step 3.5: Qwen 3's form; the prompt opens the block, whatever the request says of thinking.
//!
//! ```text
//! reasoning
//! </think>
//! answer
//! ```

use super::qwen3;
use crate::reasoning::families::delimited::{Again, Spec, Trim};

pub const SPEC: Spec = Spec { switch: false, again: Again::Dropped, trim: Trim::End, ..qwen3::SPEC };
