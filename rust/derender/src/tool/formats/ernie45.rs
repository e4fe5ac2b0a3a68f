//! Ernie 4.5:
//!
//! ```text
//! <tool_call>
//! {"name": "get_weather", "arguments": {"city": "Oslo"}}
//! </tool_call>
//! ```

use crate::tool::families::call_object::Keys;
use crate::tool::families::json_block::{KEYS, Spec, Unfinished};

pub const SPEC: Spec = Spec {
    open: &["<tool_call>"],
    close: &["</tool_call>"],
    unfinished: Unfinished::Dropped,
    keys: Keys { arguments: &["arguments"], ..KEYS },
    ..Spec::BLOCK
};
