//! Nemotron 3: Qwen 3's form.
//!
//! ```text
//! reasoning
//! </think>
//! answer
//! ```

use super::qwen3;
use crate::reasoning::families::delimited::{Again, Spec, Trim};

pub const SPEC: Spec = Spec { again: Again::Dropped, trim: Trim::End, ..qwen3::SPEC };
