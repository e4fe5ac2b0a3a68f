//! Llama 3.1 and later:
//!
//! ```text
//! {"name": "get_weather", "parameters": {"city": "Oslo"}}
//! {"name": …}; {"name": …}
//! <|python_tag|>{"name": …}; {"name": …}
//! ```
//!
//! Other JSON is an answer.

use crate::tool::families::json_block::{Bare, Spec, Strict};

pub const SPEC: Spec = Spec {
    open: &["<|python_tag|>"],
    separators: &[';'],
    bare: Bare::Anywhere,
    strict: Strict::Bare,
    ..Spec::BLOCK
};
