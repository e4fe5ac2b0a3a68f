//! Reading a `tokenizer.json` without making an object of each of its many tokens and merges.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::added_tokens::AddedToken;
use super::lexicon::Lexicon;
use super::merges::{Merges, merge};

/// The file's parts. The small ones are as `tokenizers` reads them, so a fault in them is found now.
#[derive(Deserialize)]
pub struct TokenizerFile<'a> {
    #[serde(default)]
    pub version: Option<String>,
    #[serde(default)]
    pub added_tokens: Vec<AddedToken>,
    #[serde(default)]
    pub normalizer: Option<tokenizers::NormalizerWrapper>,
    #[serde(default)]
    pub pre_tokenizer: Option<tokenizers::PreTokenizerWrapper>,
    #[serde(default)]
    pub post_processor: Option<tokenizers::PostProcessorWrapper>,
    #[serde(default)]
    pub decoder: Option<tokenizers::DecoderWrapper>,
    #[serde(borrow)]
    pub model: &'a RawValue,
}

/// A BPE model's parts.
#[derive(Deserialize)]
pub struct BpeFile<'a> {
    #[serde(rename = "type", default)]
    pub kind: Option<String>,
    #[serde(default)]
    pub dropout: Option<f32>,
    #[serde(default)]
    pub unk_token: Option<String>,
    #[serde(default)]
    pub continuing_subword_prefix: Option<String>,
    #[serde(default)]
    pub end_of_word_suffix: Option<String>,
    #[serde(default)]
    pub byte_fallback: Option<bool>,
    #[serde(default)]
    pub ignore_merges: Option<bool>,
    #[serde(borrow)]
    pub vocab: &'a RawValue,
    #[serde(borrow)]
    pub merges: &'a RawValue,
}

/// Reads a vocabulary; an error where two tokens or two ids are the same.
pub fn read_vocabulary(json: &RawValue) -> Result<Lexicon, serde_json::Error> {
    struct Tokens;

    impl<'de> Visitor<'de> for Tokens {
        type Value = Lexicon;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("a map from tokens to ids")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Lexicon, A::Error> {
            let mut lexicon = Lexicon::default();
            let mut token = String::new();
            while map.next_key_seed(Append(&mut token))?.is_some() {
                let id = map.next_value()?;
                if !lexicon.insert(&token, id) {
                    return Err(A::Error::custom("a token or an id occurs twice"));
                }
                token.clear();
            }
            Ok(lexicon)
        }
    }

    serde_json::Deserializer::from_str(json.get()).deserialize_map(Tokens)
}

/// Reads merges, calling `each` with the product of every one; an error where a token is not in the vocabulary.
pub fn read_merges(
    json: &RawValue,
    lexicon: &Lexicon,
    each: impl FnMut(&str, u32),
) -> Result<Merges, serde_json::Error> {
    let visitor = Rules { lexicon, each };
    serde_json::Deserializer::from_str(json.get()).deserialize_seq(visitor)
}

struct Rules<'l, F> {
    lexicon: &'l Lexicon,
    each: F,
}

impl<'de, F: FnMut(&str, u32)> Visitor<'de> for Rules<'_, F> {
    type Value = Merges;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of merges")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<Merges, A::Error> {
        let mut rules = Vec::with_capacity(self.lexicon.len());
        let mut text = String::new();
        while let Some(middle) = list.next_element_seed(Rule(&mut text))? {
            let ids = [&text[..middle], &text[middle..], &text].map(|token| self.lexicon.id(token));
            let [Some(left), Some(right), Some(product)] = ids else {
                return Err(A::Error::custom("a merge's token is not in the vocabulary"));
            };
            (self.each)(&text, product);
            rules.push((left, right, product));
            text.clear();
        }
        let mut merges = Merges::with_capacity(rules.len());
        for (rank, (left, right, product)) in (0..).zip(rules) {
            merges.insert(left, right, merge(rank, product));
        }
        Ok(merges)
    }
}

/// Appends a string to a buffer.
struct Append<'b>(&'b mut String);

impl<'de> DeserializeSeed<'de> for Append<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Append<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a token")
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.0.push_str(text);
        Ok(())
    }
}

/// Reads one merge, `["a", "b"]` or `"a b"`, into a buffer without what is between; gives the middle.
struct Rule<'b>(&'b mut String);

impl<'de> DeserializeSeed<'de> for Rule<'_> {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<usize, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Rule<'_> {
    type Value = usize;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("two tokens")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<usize, E> {
        match text.split_once(' ') {
            Some((left, right)) if !right.contains(' ') && !text.starts_with("#version") => {
                self.0.push_str(left);
                self.0.push_str(right);
                Ok(left.len())
            }
            _ => Err(E::custom("not two tokens with one blank between")),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<usize, A::Error> {
        let missing = || A::Error::custom("a merge has two tokens");
        list.next_element_seed(Append(self.0))?.ok_or_else(missing)?;
        let middle = self.0.len();
        list.next_element_seed(Append(self.0))?.ok_or_else(missing)?;
        if list.next_element::<serde::de::IgnoredAny>()?.is_some() {
            return Err(missing());
        }
        Ok(middle)
    }
}
