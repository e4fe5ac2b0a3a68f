//! Jamba 1.5 and later:
//!
//! ```text
//! <tool_calls>[
//!   {"name": "get_weather", "arguments": {"city": "Oslo"}},
//!   …
//! ]</tool_calls>
//! ```

use crate::tool::families::json_block::{Shape, Spec};

pub const SPEC: Spec =
    Spec { open: &["<tool_calls>"], close: &["</tool_calls>"], shape: Shape::Any, ..Spec::BLOCK };
