//! Llama 3.2 and others that answer with a list of Python calls. vLLM wants the list to be
//! the whole of the answer; here text may stand before and after it, on lines of its own.
//!
//! ```text
//! [get_weather(city="Oslo", days=2), led_on()]
//! ```

use crate::tool::families::python_list::Spec;

pub const SPEC: Spec = Spec { open: &[], close: &[], bare: true, listless: false, echoes: false };
