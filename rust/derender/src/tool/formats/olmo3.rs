//! Olmo 3: Python calls on lines of their own.
//!
//! ```text
//! <function_calls>get_weather(city="Oslo")
//! led_on()</function_calls>
//! ```

use crate::tool::families::python_list::Spec;

pub const SPEC: Spec = Spec {
    open: &["<function_calls>"],
    close: &["</function_calls>"],
    bare: false,
    listless: true,
    echoes: false,
};
