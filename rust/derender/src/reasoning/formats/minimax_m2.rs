//! MiniMax M2: always thinks; the prompt opens the block.
//!
//! ```text
//! reasoning
//! </think>
//!
//! answer
//! ```

use crate::reasoning::families::delimited::{Again, Spec, Trim};

pub const SPEC: Spec =
    Spec { interrupt: &["<minimax:tool_call>"], again: Again::Dropped, trim: Trim::End, ..Spec::THINK };
