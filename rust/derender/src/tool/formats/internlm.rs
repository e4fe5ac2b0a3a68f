//! InternLM 2:
//!
//! ```text
//! <|action_start|><|plugin|>
//! {"name": "get_weather", "parameters": {"city": "Oslo"}}<|action_end|>
//! ```
//!
//! A block of the interpreter (`<|interpreter|>`) is text.

use crate::tool::families::json_block::{Spec, Unfinished};

pub const SPEC: Spec = Spec {
    open: &["<|action_start|>"],
    lead: &["<|plugin|>"],
    close: &["<|action_end|>"],
    unfinished: Unfinished::Dropped,
    shown: &["<|interpreter|>"],
    ..Spec::BLOCK
};
