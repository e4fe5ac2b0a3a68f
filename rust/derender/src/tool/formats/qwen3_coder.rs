//! Qwen 3 Coder and Qwen 3.5, and Nemotron 3:
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
//!
//! `qwen3_xml` is another name for it.

use crate::tool::families::tagged::{Spec, Style, Trim};

pub const SPEC: Spec = Spec {
    wrapper: ["<tool_call>", "</tool_call>"],
    call: "<function=",
    name: Style::Attribute,
    call_close: "</function>",
    parameter: "<parameter=",
    key: Style::Attribute,
    key_close: ">",
    value_open: "",
    parameter_close: "</parameter>",
    filler: &[],
    bare: true,
    trim: Trim::LineBreaks,
    unwraps: false,
    native_only: true,
    tokens: &["<tool_call>", "</tool_call>"],
};
