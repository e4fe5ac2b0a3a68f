//! Step 3.5: Qwen 3's form; the prompt opens the block.
//!
//! ```text
//! reasoning
//! </think>
//! answer
//! ```

use super::delimited::Spec;
use super::qwen3;

pub const SPEC: Spec = qwen3::SPEC;
