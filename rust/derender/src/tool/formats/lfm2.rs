//! LFM 2: a list of Python calls, which the model sometimes writes twice.
//!
//! ```text
//! <|tool_call_start|>[get_weather(city="Oslo")]<|tool_call_end|>
//! <|tool_call_start|>[led_on()]<|tool_call_end|>[led_on()]<|tool_call_end|>
//! ```

use crate::tool::families::python_list::Spec;

pub const SPEC: Spec = Spec {
    open: &["<|tool_call_start|>"],
    close: &["<|tool_call_end|>"],
    bare: false,
    listless: false,
    echoes: true,
};
