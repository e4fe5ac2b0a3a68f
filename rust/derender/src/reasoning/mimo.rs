//! MiMo: Qwen 3's form.
//!
//! ```text
//! <think>
//! reasoning
//! </think>
//! answer
//! ```

use super::delimited::{Again, Spec};
use super::qwen3;

pub const SPEC: Spec = Spec { again: Again::Dropped, ..qwen3::SPEC };
