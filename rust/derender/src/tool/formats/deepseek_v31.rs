//! DeepSeek V3.1: the name, a marker, the arguments.
//!
//! ```text
//! <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{"city": "Oslo"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>
//! ```

use crate::tool::families::sectioned::{Header, Spec};

pub const SPEC: Spec = Spec {
    section: &["<｜tool▁calls▁begin｜>"],
    section_end: &["<｜tool▁calls▁end｜>"],
    open: "<｜tool▁call▁begin｜>",
    header: Header::Name,
    arguments: "<｜tool▁sep｜>",
    fence: "",
    close: "<｜tool▁call▁end｜>",
};
