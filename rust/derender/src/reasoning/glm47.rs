//! GLM 4.7: GLM 4.5's form; the prompt opens the block, or closes it.
//!
//! ```text
//! reasoning</think>answer
//! ```

use super::delimited::Spec;
use super::glm45;

pub const SPEC: Spec = glm45::SPEC;
