//! Llama 4, where its template asks for JSON: the same form as Llama 3's.
//!
//! ```text
//! {"name": "get_weather", "parameters": {"city": "Oslo"}}; {"name": …}
//! ```

pub use super::llama3_json::SPEC;
