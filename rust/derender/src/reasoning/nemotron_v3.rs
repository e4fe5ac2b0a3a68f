//! Nemotron 3: Qwen 3's form.
//!
//! ```text
//! reasoning
//! </think>
//! answer
//! ```

use super::delimited::{Again, Spec, Trim};
use super::qwen3;

pub const SPEC: Spec = Spec { again: Again::Dropped, trim: Trim::End, ..qwen3::SPEC };
