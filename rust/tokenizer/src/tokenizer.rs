//! A loaded `tokenizer.json`.

use std::path::Path;

use crate::{Encode, Encoding, Error};

/// A tokenizer: the encoder and the vocabulary.
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
    vocab_size: usize,
    longest_token: usize,
}

impl Tokenizer {
    /// Loads a `tokenizer.json`.
    ///
    /// # Errors
    /// [`Error::Load`] where the file is missing or not a tokenizer.
    pub fn from_file(path: &Path) -> Result<Self, Error> {
        let text =
            std::fs::read(path).map_err(|error| Error::Load(format!("{}: {error}", path.display())))?;
        Self::from_bytes(&text)
    }

    /// Reads the text of a `tokenizer.json`.
    ///
    /// # Errors
    /// [`Error::Load`] where it is not a tokenizer.
    pub fn from_bytes(text: &[u8]) -> Result<Self, Error> {
        let mut inner =
            tokenizers::Tokenizer::from_bytes(text).map_err(|error| Error::Load(error.to_string()))?;
        // A file may ask for padding or truncation; neither belongs to a prompt.
        inner.with_truncation(None).map_err(|error| Error::Load(error.to_string()))?;
        inner.with_padding(None);
        let (mut vocab_size, mut longest_token) = (0, 0);
        for (token, id) in inner.get_vocab(true) {
            vocab_size = vocab_size.max(id as usize + 1);
            longest_token = longest_token.max(token.chars().count());
        }
        Ok(Self { inner, vocab_size, longest_token })
    }

    /// One more than the highest id that the tokenizer knows.
    #[must_use]
    pub fn vocab_size(&self) -> usize {
        self.vocab_size
    }

    /// Characters of the vocabulary's longest token: an upper bound on what one token stands for.
    #[must_use]
    pub fn longest_token(&self) -> usize {
        self.longest_token
    }

    /// Encodes `text`: see [`Encode::encode`].
    ///
    /// # Errors
    /// [`Error::Encode`].
    pub fn encode(&self, text: &str, add_special_tokens: bool, offsets: bool) -> Result<Encoding, Error> {
        Encode::encode(&self.inner, text, add_special_tokens, offsets)
    }

    /// The text of `ids`, as HF `decode` gives it; ids that the tokenizer does not know are left out.
    ///
    /// # Errors
    /// [`Error::Decode`].
    pub fn decode(&self, ids: &[u32], skip_special_tokens: bool) -> Result<String, Error> {
        self.inner.decode(ids, skip_special_tokens).map_err(|error| Error::Decode(error.to_string()))
    }

    /// The vocabulary's string of an id, as `convert_ids_to_tokens` gives it.
    #[must_use]
    pub fn token(&self, id: u32) -> Option<String> {
        self.inner.id_to_token(id)
    }

    /// The id of a token of the vocabulary.
    #[must_use]
    pub fn id(&self, token: &str) -> Option<u32> {
        self.inner.token_to_id(token)
    }

    /// The `tokenizers` library's object, for what only it knows.
    #[must_use]
    pub fn inner(&self) -> &tokenizers::Tokenizer {
        &self.inner
    }
}
