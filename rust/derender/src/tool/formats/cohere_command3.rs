//! Command A and Command R of 2024 and 2025:
//!
//! ```text
//! <|START_ACTION|>[
//!     {"tool_call_id": "0", "tool_name": "get_weather", "parameters": {"city": "Oslo"}},
//!     …
//! ]<|END_ACTION|>
//! ```
//!
//! The model's own ids only count its calls, so they are no ids of a conversation. It is forced by its own form only.

use crate::tool::families::call_object::Keys;
use crate::tool::families::json_block::{Shape, Spec, Unfinished};

pub const SPEC: Spec = Spec {
    open: &["<|START_ACTION|>"],
    close: &["<|END_ACTION|>"],
    shape: Shape::Any,
    unfinished: Unfinished::Dropped,
    native_only: true,
    keys: Keys { name: &["tool_name", "name"], arguments: &["parameters", "arguments"], id: &[] },
    ..Spec::BLOCK
};
