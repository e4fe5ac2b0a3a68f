//! DeepSeek V3 and R1: a typed header, and JSON in a fence.
//!
//! ````text
//! <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather
//! ```json
//! {"city": "Oslo"}
//! ```<｜tool▁call▁end｜>
//! <｜tool▁call▁begin｜>…<｜tool▁call▁end｜><｜tool▁calls▁end｜>
//! ````

use crate::tool::families::sectioned::{Header, Spec};

pub const SPEC: Spec = Spec {
    section: &["<｜tool▁calls▁begin｜>"],
    section_end: &["<｜tool▁calls▁end｜>"],
    open: "<｜tool▁call▁begin｜>",
    header: Header::Typed("<｜tool▁sep｜>"),
    arguments: "```json",
    fence: "```",
    close: "<｜tool▁call▁end｜>",
};
