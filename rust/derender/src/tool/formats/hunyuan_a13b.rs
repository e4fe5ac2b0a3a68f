//! Hunyuan A13B:
//!
//! ```text
//! <tool_calls>[{"name": "get_weather", "arguments": {"city": "Oslo"}}, …]</tool_calls>
//! ```
//!
//! What it writes while it thinks is no call.

use crate::tool::families::json_block::{Shape, Spec};

pub const SPEC: Spec = Spec {
    open: &["<tool_calls>"],
    close: &["</tool_calls>"],
    shape: Shape::Any,
    quote: Some(["<think>", "</think>"]),
    ..Spec::BLOCK
};
