//! FunctionGemma: arguments in braces, strings between `<escape>`, other values bare.
//!
//! ```text
//! <start_function_call>call:get_weather{city:<escape>Oslo<escape>,days:2}<end_function_call>
//! ```

use crate::tool::families::braced::Spec;
use crate::tool::families::typing::Types;

pub const SPEC: Spec = Spec {
    open: "<start_function_call>",
    close: "<end_function_call>",
    quote: "<escape>",
    unknown: Types::UNKNOWN,
    native_only: false,
};
