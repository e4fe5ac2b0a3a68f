//! Phi 4 mini. The second form is that of its chat template:
//!
//! ```text
//! functools[{"name": "get_weather", "arguments": {"city": "Oslo"}}, …]
//! <|tool_call|>[{"name": "get_weather", "arguments": {"city": "Oslo"}}]<|/tool_call|>
//! ```

use crate::tool::families::json_block::{Shape, Spec};

pub const SPEC: Spec = Spec {
    open: &["functools", "<|tool_call|>"],
    close: &["<|/tool_call|>"],
    shape: Shape::Any,
    ..Spec::BLOCK
};
