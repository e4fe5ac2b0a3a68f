//! The encoder for the kinds of tokenizer that most models have, with the same ids and offsets as `tokenizers` gives.

mod added_tokens;
mod bpe;
mod config;
mod cutter;
mod decoder;
mod encoder;
mod file;
mod lexicon;
mod merges;
mod model;
mod normalize;
mod offsets;
mod postprocess;
mod segment_cache;
mod word_cache;

pub use added_tokens::AddedToken;
pub use decoder::Decoder;
pub use encoder::FastEncoder;
pub use file::TokenizerFile;
pub use segment_cache::DEFAULT_BYTES;
