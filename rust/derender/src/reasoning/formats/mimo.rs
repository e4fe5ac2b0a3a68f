//! MiMo: Qwen 3's form.
//!
//! ```text
//! <think>
//! reasoning
//! </think>
//! answer
//! ```

use super::qwen3;
use crate::reasoning::families::delimited::{Again, Spec};

pub const SPEC: Spec = Spec { again: Again::Dropped, ..qwen3::SPEC };
