//! Llama 4: a list of Python calls, between markers or bare.
//!
//! ```text
//! <|python_start|>[get_weather(city="Oslo"), led_on()]<|python_end|>
//! ```

use crate::tool::families::python_list::Spec;

pub const SPEC: Spec = Spec {
    open: &["<|python_start|>"],
    close: &["<|python_end|>"],
    bare: true,
    listless: false,
    echoes: false,
};
