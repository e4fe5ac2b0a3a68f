//! The encoder's interface, kept small so that a faster one can take its place.

use crate::Error;

/// The ids of a text, with their places in it where they were asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encoding {
    /// Token ids, `(n,)`.
    pub ids: Vec<u32>,
    /// Half-open ranges of Unicode code points, `(n,)` where they were asked for, else empty.
    pub offsets: Vec<[u32; 2]>,
    /// Ids in front that stand for no text: the post-processor's, such as a BOS.
    pub added_before: usize,
    /// Ids at the end that stand for no text.
    pub added_after: usize,
}

/// Text to ids, as HF `tokenizers` encodes it.
pub trait Encode: Send + Sync {
    /// Encodes `text`; `add_special_tokens` runs the post-processor (a leading BOS and the like).
    ///
    /// # Errors
    /// [`Error::Encode`] for a text that the model has no tokens for.
    fn encode(&self, text: &str, add_special_tokens: bool, offsets: bool) -> Result<Encoding, Error>;
}

impl Encode for tokenizers::Tokenizer {
    fn encode(&self, text: &str, add_special_tokens: bool, offsets: bool) -> Result<Encoding, Error> {
        let encoded = if offsets {
            self.encode_char_offsets(text, add_special_tokens)
        } else {
            self.encode_fast(text, add_special_tokens)
        };
        let encoded = encoded.map_err(|error| Error::Encode(error.to_string()))?;
        let to_u32 = |place: usize| u32::try_from(place).unwrap_or(u32::MAX);
        let offsets = if offsets {
            encoded.get_offsets().iter().map(|&(start, end)| [to_u32(start), to_u32(end)]).collect()
        } else {
            Vec::new()
        };
        let added = encoded.get_special_tokens_mask();
        let added_before = added.iter().take_while(|flag| **flag == 1).count();
        let added_after = added[added_before..].iter().rev().take_while(|flag| **flag == 1).count();
        Ok(Encoding { ids: encoded.get_ids().to_vec(), offsets, added_before, added_after })
    }
}
