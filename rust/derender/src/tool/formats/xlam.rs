//! xLAM: a JSON list, alone or wrapped in one of several ways.
//!
//! ```text
//! [{"name": "get_weather", "arguments": {"city": "Oslo"}}, …]
//! ```json … ```      <tool_call>…</tool_call>      [TOOL_CALLS]…
//! ```
//!
//! Other JSON is an answer.

use crate::tool::families::json_block::{Bare, Shape, Spec, Strict};

pub const SPEC: Spec = Spec {
    open: &["```json", "```", "<tool_call>", "[TOOL_CALLS]"],
    close: &["```", "</tool_call>"],
    shape: Shape::List,
    bare: Bare::Anywhere,
    strict: Strict::Everywhere,
    ..Spec::BLOCK
};
