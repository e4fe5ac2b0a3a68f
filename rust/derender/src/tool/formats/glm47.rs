//! GLM 4.7: GLM 4.5's form, without line breaks between the tags.
//!
//! ```text
//! <tool_call>get_weather<arg_key>city</arg_key><arg_value>Oslo</arg_value></tool_call>
//! ```

use super::glm45;
use crate::tool::families::tagged::Spec;

pub const SPEC: Spec = glm45::SPEC;
