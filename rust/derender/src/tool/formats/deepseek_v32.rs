//! DeepSeek V3.2 (DSML): an attribute tells strings from other values.
//!
//! ```text
//! <｜DSML｜function_calls>
//! <｜DSML｜invoke name="get_weather">
//! <｜DSML｜parameter name="city" string="true">Oslo</｜DSML｜parameter>
//! <｜DSML｜parameter name="days" string="false">3</｜DSML｜parameter>
//! </｜DSML｜invoke>
//! </｜DSML｜function_calls>
//! ```

use crate::tool::families::tagged::{Spec, Style, Trim};

pub const SPEC: Spec = Spec {
    wrapper: ["<｜DSML｜function_calls>", "</｜DSML｜function_calls>"],
    call: "<｜DSML｜invoke name=",
    name: Style::Attribute,
    call_close: "</｜DSML｜invoke>",
    parameter: "<｜DSML｜parameter name=",
    key: Style::Attribute,
    key_close: ">",
    value_open: "",
    parameter_close: "</｜DSML｜parameter>",
    filler: &[],
    bare: true,
    trim: Trim::Nothing,
    unwraps: true,
    native_only: true,
    tokens: &["｜DSML｜"],
};
