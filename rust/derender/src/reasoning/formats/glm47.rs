//! GLM 4.7: GLM 4.5's form; the prompt opens the block, or closes it.
//!
//! ```text
//! reasoning</think>answer
//! ```

use super::glm45;
use crate::reasoning::families::delimited::Spec;

pub const SPEC: Spec = glm45::SPEC;
