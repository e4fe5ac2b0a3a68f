//! Granite 4:
//!
//! ```text
//! <tool_call>
//! {"name": "get_weather", "arguments": {"city": "Oslo"}}
//! </tool_call>
//! ```

use crate::tool::families::json_block::Spec;

pub const SPEC: Spec = Spec { open: &["<tool_call>"], close: &["</tool_call>"], ..Spec::BLOCK };
