//! Step 3.5: Qwen 3's form; the prompt opens the block, whatever the request says of thinking.
//!
//! ```text
//! reasoning
//! </think>
//! answer
//! ```

use super::delimited::{Again, Spec, Trim};
use super::qwen3;

pub const SPEC: Spec = Spec { switch: false, again: Again::Dropped, trim: Trim::End, ..qwen3::SPEC };
