//! MiMo: Qwen 3 Coder's form, but values begin and end at their tags.
//!
//! ```text
//! <tool_call>
//! <function=get_weather>
//! <parameter=city>Oslo</parameter>
//! </function>
//! </tool_call>
//! ```

use super::qwen3_coder;
use crate::tool::families::tagged::{Spec, Trim};

pub const SPEC: Spec = Spec { trim: Trim::Nothing, ..qwen3_coder::SPEC };
