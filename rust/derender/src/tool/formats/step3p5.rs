//! Step 3.5: Qwen 3 Coder's form.
//!
//! ```text
//! <tool_call>
//! <function=get_weather>
//! <parameter=city>
//! Oslo
//! </parameter>
//! </function>
//! </tool_call>
//! ```

use super::qwen3_coder;
use crate::tool::families::tagged::Spec;

pub const SPEC: Spec = qwen3_coder::SPEC;
