//! Apertus: the function's name is the key.
//!
//! ```text
//! <|tools_prefix|>[{"get_weather": {"city": "Oslo"}}, …]<|tools_suffix|>
//! ```
//!
//! vLLM shows the markers of its deliberation (`<|inner_prefix|>`) in the answer.

use crate::tool::families::call_object::Keys;
use crate::tool::families::json_block::{KEYS, Shape, Spec, Unfinished};

pub const SPEC: Spec = Spec {
    open: &["<|tools_prefix|>"],
    close: &["<|tools_suffix|>"],
    shape: Shape::Any,
    unfinished: Unfinished::Dropped,
    shown: &["<|inner_prefix|>", "<|inner_suffix|>"],
    keys: Keys { name: &[], arguments: &[], ..KEYS },
    ..Spec::BLOCK
};
