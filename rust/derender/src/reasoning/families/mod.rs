//! The parsers: code that the formats of a family share.

pub mod delimited;
pub mod framed;
pub(super) mod gemma4;
pub mod kept;
pub(super) mod openai_gptoss;
pub mod opening;
pub(super) mod trim;
