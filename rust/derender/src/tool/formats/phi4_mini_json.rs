//! Phi 4 mini:
//!
//! ```text
//! functools[{"name": "get_weather", "arguments": {"city": "Oslo"}}, …]
//! ```

use crate::tool::families::json_block::{Shape, Spec};

pub const SPEC: Spec = Spec { open: &["functools"], shape: Shape::List, ..Spec::BLOCK };
