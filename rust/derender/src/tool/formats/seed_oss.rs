//! Seed OSS:
//!
//! ```text
//! <seed:tool_call>
//! <function=get_weather>
//! <parameter=city>Oslo</parameter>
//! </function>
//! </seed:tool_call>
//! ```

use super::qwen3_coder;
use crate::tool::families::tagged::Spec;

pub const SPEC: Spec = Spec {
    wrapper: ["<seed:tool_call>", "</seed:tool_call>"],
    native_only: false,
    tokens: &["<seed:tool_call>", "</seed:tool_call>"],
    ..qwen3_coder::SPEC
};
