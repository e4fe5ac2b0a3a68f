//! Text to token ids and back.

mod byte_level;
mod encode;
mod error;
mod fast;
mod pretokenize;
mod tokenizer;
mod vocabulary;

pub use encode::{Encode, Encoding};
pub use error::Error;
pub use fast::AddedToken;
pub use tokenizer::Tokenizer;
pub use vocabulary::{Decoding, Vocabulary};
