//! Step 3:
//!
//! ```text
//! <｜tool_calls_begin｜>
//! <｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="get_weather">
//! <steptml:parameter name="city">Oslo</steptml:parameter>
//! </steptml:invoke><｜tool_call_end｜>
//! <｜tool_calls_end｜>
//! ```

use crate::tool::families::tagged::{Spec, Style, Trim};

pub const SPEC: Spec = Spec {
    wrapper: ["<｜tool_calls_begin｜>", "<｜tool_calls_end｜>"],
    call: "<steptml:invoke name=",
    name: Style::Attribute,
    call_close: "</steptml:invoke>",
    parameter: "<steptml:parameter name=",
    key: Style::Attribute,
    key_close: ">",
    value_open: "",
    parameter_close: "</steptml:parameter>",
    filler: &["<｜tool_call_begin｜>", "function", "<｜tool_sep｜>", "<｜tool_call_end｜>"],
    bare: false,
    trim: Trim::Blanks,
    unwraps: false,
    native_only: false,
    tokens: &[
        "<｜tool_calls_begin｜>",
        "<｜tool_calls_end｜>",
        "<｜tool_call_begin｜>",
        "<｜tool_call_end｜>",
        "<｜tool_sep｜>",
    ],
};
