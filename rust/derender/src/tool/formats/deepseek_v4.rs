//! DeepSeek V4 (DSML): DeepSeek V3.2's form in another wrapper.
//!
//! ```text
//! <｜DSML｜tool_calls>
//! <｜DSML｜invoke name="get_weather">
//! <｜DSML｜parameter name="city" string="true">Oslo</｜DSML｜parameter>
//! <｜DSML｜parameter name="days" string="false">3</｜DSML｜parameter>
//! </｜DSML｜invoke>
//! </｜DSML｜tool_calls>
//! ```

use super::deepseek_v32;
use crate::tool::families::tagged::Spec;

pub const SPEC: Spec =
    Spec { wrapper: ["<｜DSML｜tool_calls>", "</｜DSML｜tool_calls>"], ..deepseek_v32::SPEC };
