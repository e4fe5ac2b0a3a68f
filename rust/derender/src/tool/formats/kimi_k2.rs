//! Kimi K2: calls that the model numbers through the whole conversation; `functions.NAME:NUMBER` is the call's id.
//!
//! ```text
//! <|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "Oslo"}
//! <|tool_call_end|><|tool_calls_section_end|>
//! ```
//!
//! Some checkpoints write the section's markers in the singular.

use crate::tool::families::sectioned::{Header, Spec};

pub const SPEC: Spec = Spec {
    section: &["<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"],
    section_end: &["<|tool_calls_section_end|>", "<|tool_call_section_end|>"],
    open: "<|tool_call_begin|>",
    header: Header::Id,
    arguments: "<|tool_call_argument_begin|>",
    fence: "",
    close: "<|tool_call_end|>",
};
