//! MiniMax M2: all calls of a turn in one wrapper.
//!
//! ```text
//! <minimax:tool_call>
//! <invoke name="get_weather">
//! <parameter name="city">Oslo</parameter>
//! </invoke>
//! </minimax:tool_call>
//! ```

use crate::tool::families::tagged::{Spec, Style, Trim};

pub const SPEC: Spec = Spec {
    wrapper: ["<minimax:tool_call>", "</minimax:tool_call>"],
    call: "<invoke name=",
    name: Style::Attribute,
    call_close: "</invoke>",
    parameter: "<parameter name=",
    key: Style::Attribute,
    key_close: ">",
    value_open: "",
    parameter_close: "</parameter>",
    filler: &[],
    bare: true,
    trim: Trim::Nothing,
    unwraps: false,
    native_only: true,
    tokens: &["<minimax:tool_call>", "</minimax:tool_call>"],
};
