//! Gemma 4: arguments in braces, strings between tokens of their own, other values bare. As in vLLM, a bare value is
//! what the schema says, and text where there is none.
//!
//! ```text
//! <|tool_call>call:get_weather{city:<|"|>Oslo<|"|>,days:2}<tool_call|>
//! ```

use crate::tool::families::braced::Spec;
use crate::tool::families::typing::Types;

pub const SPEC: Spec = Spec {
    open: "<|tool_call>",
    close: "<tool_call|>",
    quote: "<|\"|>",
    unknown: Types::TEXT,
    native_only: true,
};
