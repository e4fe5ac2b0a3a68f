//! MiMo: Qwen 3's form.
//!
//! ```text
//! <think>
//! reasoning
//! </think>
//! answer
//! ```

use super::delimited::Spec;
use super::qwen3;

pub const SPEC: Spec = qwen3::SPEC;
