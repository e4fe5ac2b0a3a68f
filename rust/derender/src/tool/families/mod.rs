//! The parsers: code that the formats of a family share.

pub mod braced;
pub(super) mod braced_arguments;
pub mod call_object;
pub mod json_block;
pub(super) mod json_calls;
pub(super) mod json_spec;
pub(super) mod mistral;
pub(super) mod openai;
pub(super) mod python_call;
pub mod python_list;
pub mod sectioned;
pub mod tagged;
pub(super) mod typing;
