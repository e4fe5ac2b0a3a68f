//! Command models after Command A, whose calls have the form of its predecessors.
//!
//! ```text
//! <|START_ACTION|>[
//!     {"tool_call_id": "0", "tool_name": "get_weather", "parameters": {"city": "Oslo"}}
//! ]<|END_ACTION|>
//! ```

pub use super::cohere_command3::SPEC;
