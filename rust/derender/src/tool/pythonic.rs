//! Llama 3.2 and others that answer with a list of Python calls. The calls are the whole of the answer: a list in the
//! middle of text is text.
//!
//! ```text
//! [get_weather(city="Oslo", days=2), led_on()]
//! ```

use super::python_list::Spec;

pub const SPEC: Spec = Spec { open: &[], close: &[], bare: true, listless: false, echoes: false };
