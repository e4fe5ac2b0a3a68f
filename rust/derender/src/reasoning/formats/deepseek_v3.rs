//! DeepSeek V3.1 and V3.2: the prompt opens or closes the block, as the request's `thinking` says.
//!
//! ```text
//! reasoning</think>answer
//! ```

use crate::reasoning::families::delimited::{Spec, Unmarked};

pub const SPEC: Spec = Spec { unmarked: Unmarked::Answer, switch: true, ..Spec::THINK };
