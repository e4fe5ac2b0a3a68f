//! Text to token ids and back.

mod encode;
mod error;
mod tokenizer;

pub use encode::{Encode, Encoding};
pub use error::Error;
pub use tokenizer::Tokenizer;
