//! Command models after Command A: as its predecessors, with other markers around the answer.
//!
//! ```text
//! <|START_THINKING|>reasoning<|END_THINKING|><|START_TEXT|>answer<|END_TEXT|>
//! ```

pub use super::cohere_command3::SPEC;
