//! A loaded `tokenizer.json`.

use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use rustc_hash::FxHashMap;

use crate::fast::{AddedToken, DEFAULT_BYTES, Decoder, FastEncoder, TokenizerFile};
use crate::{Encode, Encoding, Error};

/// A tokenizer: the encoder and the vocabulary.
pub struct Tokenizer {
    /// For the kinds of tokenizer that it knows.
    fast: Option<FastEncoder>,
    added_tokens: Vec<(u32, AddedToken)>,
    /// Indices of the added tokens, by id.
    added_by_id: FxHashMap<u32, usize>,
    decoder: Option<tokenizers::DecoderWrapper>,
    /// The decoder, if it is of a known kind and the encoder too.
    fast_decoder: Option<Decoder>,
    inner: OnceLock<tokenizers::Tokenizer>,
    /// The file, until the library's object is made of it.
    source: Mutex<Vec<u8>>,
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
        Self::read(text, DEFAULT_BYTES)
    }

    /// Reads the text of a `tokenizer.json`.
    ///
    /// # Errors
    /// [`Error::Load`] where it is not a tokenizer.
    pub fn from_bytes(text: &[u8]) -> Result<Self, Error> {
        Self::read(text.to_vec(), DEFAULT_BYTES)
    }

    /// Reads the text of a `tokenizer.json`, with at most about `cache_bytes` bytes of encoded text kept for texts
    /// that share much with earlier ones; 0 keeps none.
    ///
    /// # Errors
    /// [`Error::Load`] where it is not a tokenizer.
    pub fn with_cache(text: &[u8], cache_bytes: usize) -> Result<Self, Error> {
        Self::read(text.to_vec(), cache_bytes)
    }

    fn read(text: Vec<u8>, cache_bytes: usize) -> Result<Self, Error> {
        if let Some((fast, decoder)) = read_fast(&text, cache_bytes) {
            return Ok(Self::of_fast(fast, decoder, text));
        }
        let inner = load(&text)?;
        let mut added_tokens: Vec<_> = inner
            .get_added_tokens_decoder()
            .into_iter()
            .map(|(id, token)| (id, AddedToken::from(token)))
            .collect();
        added_tokens.sort_unstable_by_key(|(id, _)| *id);
        let (mut vocab_size, mut longest_token) = (0, 0);
        for (token, id) in inner.get_vocab(true) {
            vocab_size = vocab_size.max(id as usize + 1);
            longest_token = longest_token.max(token.chars().count());
        }
        let decoder = inner.get_decoder().cloned();
        Ok(Self {
            fast: None,
            added_by_id: by_id(&added_tokens),
            added_tokens,
            decoder,
            fast_decoder: None,
            inner: OnceLock::from(inner),
            source: Mutex::default(),
            vocab_size,
            longest_token,
        })
    }

    fn of_fast(fast: FastEncoder, decoder: Option<tokenizers::DecoderWrapper>, source: Vec<u8>) -> Self {
        let mut added_tokens = fast.added_tokens().to_vec();
        added_tokens.sort_unstable_by_key(|(id, _)| *id);
        let added = added_tokens.iter().map(|(id, token)| (*id, token.content.as_str()));
        let (mut vocab_size, mut longest_token) = (0, 0);
        for (id, token) in fast.lexicon().iter().chain(added) {
            vocab_size = vocab_size.max(id as usize + 1);
            longest_token = longest_token.max(token.chars().count());
        }
        Self {
            fast: Some(fast),
            added_by_id: by_id(&added_tokens),
            added_tokens,
            fast_decoder: serde_json::to_value(&decoder).ok().and_then(|decoder| Decoder::read(&decoder)),
            decoder,
            inner: OnceLock::new(),
            source: Mutex::new(source),
            vocab_size,
            longest_token,
        }
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
        match &self.fast {
            Some(fast) if !offsets || fast.knows_offsets() => fast.encode(text, add_special_tokens, offsets),
            _ => Encode::encode(self.inner(), text, add_special_tokens, offsets),
        }
    }

    /// The text of `ids`, as HF `decode` gives it; ids that the tokenizer does not know are left out.
    ///
    /// # Errors
    /// [`Error::Decode`].
    pub fn decode(&self, ids: &[u32], skip_special_tokens: bool) -> Result<String, Error> {
        let (Some(fast), Some(decoder)) = (&self.fast, self.fast_decoder) else {
            let text = self.inner().decode(ids, skip_special_tokens);
            return text.map_err(|error| Error::Decode(error.to_string()));
        };
        Ok(decoder.decode(ids.iter().filter_map(|&id| match self.added_token(id) {
            Some(token) => (!skip_special_tokens || !token.special).then_some(token.content.as_str()),
            None => fast.lexicon().token(id),
        })))
    }

    /// The vocabulary's string of an id, as `convert_ids_to_tokens` gives it.
    #[must_use]
    pub fn token(&self, id: u32) -> Option<String> {
        let Some(fast) = &self.fast else { return self.inner().id_to_token(id) };
        let added = self.added_token(id).map(|token| token.content.as_str());
        added.or_else(|| fast.lexicon().token(id)).map(str::to_owned)
    }

    fn added_token(&self, id: u32) -> Option<&AddedToken> {
        self.added_by_id.get(&id).map(|&index| &self.added_tokens[index].1)
    }

    /// The id of a token of the vocabulary.
    #[must_use]
    pub fn id(&self, token: &str) -> Option<u32> {
        let Some(fast) = &self.fast else { return self.inner().token_to_id(token) };
        // An added token that the model knows has the model's id.
        let added = || self.added_tokens.iter().find(|(_, added)| added.content == token).map(|(id, _)| *id);
        fast.lexicon().id(token).or_else(added)
    }

    /// The added tokens with their ids, by id.
    #[must_use]
    pub fn added_tokens(&self) -> &[(u32, AddedToken)] {
        &self.added_tokens
    }

    /// The decoder that the file asks for.
    #[must_use]
    pub fn decoder(&self) -> Option<&tokenizers::DecoderWrapper> {
        self.decoder.as_ref()
    }

    /// Whether texts are encoded here, and not by the `tokenizers` library.
    #[must_use]
    pub fn is_fast(&self) -> bool {
        self.fast.is_some()
    }

    /// The `tokenizers` library's object, for what only it knows. It is made on first use, which takes about a
    /// second for a large vocabulary.
    #[must_use]
    pub fn inner(&self) -> &tokenizers::Tokenizer {
        self.inner.get_or_init(|| {
            let source = std::mem::take(&mut *self.source.lock().unwrap_or_else(PoisonError::into_inner));
            // All of the file's parts were read before, so nothing is left to fail; if it does, nothing is known.
            load(&source)
                .unwrap_or_else(|_| tokenizers::Tokenizer::new(tokenizers::models::bpe::BPE::default()))
        })
    }
}

fn by_id(added_tokens: &[(u32, AddedToken)]) -> FxHashMap<u32, usize> {
    added_tokens.iter().enumerate().map(|(index, (id, _))| (*id, index)).collect()
}

/// Reads a file of a kind that is encoded here, with its decoder.
fn read_fast(text: &[u8], cache_bytes: usize) -> Option<(FastEncoder, Option<tokenizers::DecoderWrapper>)> {
    let file: TokenizerFile<'_> = serde_json::from_slice(text).ok()?;
    Some((FastEncoder::read(&file, cache_bytes)?, file.decoder))
}

fn load(text: &[u8]) -> Result<tokenizers::Tokenizer, Error> {
    let mut inner =
        tokenizers::Tokenizer::from_bytes(text).map_err(|error| Error::Load(error.to_string()))?;
    // A file may ask for padding or truncation; neither belongs to a prompt.
    inner.with_truncation(None).map_err(|error| Error::Load(error.to_string()))?;
    inner.with_padding(None);
    Ok(inner)
}
