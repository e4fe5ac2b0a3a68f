//! Granite 3:
//!
//! ```text
//! <|tool_call|>[{"name": "get_weather", "arguments": {"city": "Oslo"}}, …]
//! <tool_call>[…]                                                               (3.1)
//! ```

use crate::tool::families::json_block::{Shape, Spec, Unfinished};

pub const SPEC: Spec = Spec {
    open: &["<|tool_call|>", "<tool_call>"],
    shape: Shape::Any,
    unfinished: Unfinished::Dropped,
    ..Spec::BLOCK
};
