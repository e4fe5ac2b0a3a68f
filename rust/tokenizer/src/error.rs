//! What can go wrong with a tokenizer.

/// A tokenizer that cannot be read, or a text that it cannot encode.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file is no `tokenizer.json` that the `tokenizers` library reads.
    #[error("the tokenizer could not be loaded: {0}")]
    Load(String),
    /// The tokenizer's model has no token for a part of the text, and no unknown token.
    #[error("the text could not be encoded: {0}")]
    Encode(String),
    /// The ids could not be turned into text.
    #[error("the ids could not be decoded: {0}")]
    Decode(String),
}
