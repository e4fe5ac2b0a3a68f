//! MiniMax M2 for clients that keep its thinking in the history: the answer holds it, with its markers.
//!
//! ```text
//! reasoning                    <think>reasoning
//! </think>             ─▶      </think>
//!
//! answer                       answer
//! ```

use crate::reasoning::families::kept::Spec;

pub const SPEC: Spec = Spec { open: "<think>", close: "</think>" };
