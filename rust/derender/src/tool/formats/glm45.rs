//! GLM 4.5 and 4.6: the name stands on the opening tag's line, and keys and values alternate.
//!
//! ```text
//! <tool_call>get_weather
//! <arg_key>city</arg_key>
//! <arg_value>Oslo</arg_value>
//! </tool_call>
//! ```

use crate::tool::families::tagged::{Spec, Style, Trim};

pub const SPEC: Spec = Spec {
    wrapper: ["", ""],
    call: "<tool_call>",
    name: Style::Line,
    call_close: "</tool_call>",
    parameter: "<arg_key>",
    key: Style::Line,
    key_close: "</arg_key>",
    value_open: "<arg_value>",
    parameter_close: "</arg_value>",
    filler: &[],
    bare: true,
    trim: Trim::Nothing,
    unwraps: false,
    native_only: true,
    tokens: &["<tool_call>", "</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"],
};
