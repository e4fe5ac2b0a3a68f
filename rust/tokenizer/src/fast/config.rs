//! Telling from a tokenizer's file whether it is one of the kinds that are encoded here.
//!
//! Whatever is not recognised exactly leaves the whole tokenizer to the `tokenizers` library.

use serde_json::Value;

use super::added_tokens::AddedToken;
use super::cutter::{BLANK, Cutter};
use super::file::{BpeFile, TokenizerFile, read_merges, read_vocabulary};
use super::lexicon::Lexicon;
use super::model::{Alphabet, Model, NO_TOKEN, byte_token, character_of, piece, widths};
use super::normalize::is_nfc;
use super::offsets::BYTE_TOKEN;
use super::postprocess::Around;
use crate::byte_level;
use crate::pretokenize::Splitter;

/// What happens to a text before it is cut into words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Normalizer {
    /// Nothing; in a SentencePiece model, blanks become `▁`.
    None,
    /// Unicode normalisation form C.
    Nfc,
}

/// Where a blank is put in front of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prefix {
    /// Nowhere.
    Never,
    /// Before every stretch between added tokens.
    Always,
    /// Before those that do not begin with one.
    IfAbsent,
    /// Before the first, if it does not begin with one and no added token is in front of it.
    FirstIfAbsent,
}

/// A tokenizer of a known kind.
pub struct Config {
    pub model: Model,
    pub normalizer: Normalizer,
    pub prefix: Prefix,
    pub around: Around,
    /// With their ids.
    pub added_tokens: Vec<(u32, AddedToken)>,
}

/// How text becomes words, as read off the normaliser and the pre-tokenizer.
struct Words {
    normalizer: Normalizer,
    prefix: Prefix,
    kind: WordKind,
}

enum WordKind {
    ByteLevel(Option<Splitter>),
    Pieces { at_blanks: bool },
}

impl Config {
    /// Reads a file's parts; none for a kind that is not known here, or that has a fault.
    pub fn read(file: &TokenizerFile<'_>) -> Option<Self> {
        if file.version.as_deref().is_some_and(|version| version != "1.0") {
            return None;
        }
        let normalizer = serde_json::to_value(&file.normalizer).ok()?;
        let pre_tokenizer = serde_json::to_value(&file.pre_tokenizer).ok()?;
        let around = Around::read(&serde_json::to_value(&file.post_processor).ok()?)?;
        let words = read_words(&normalizer, &pre_tokenizer)?;
        let model = read_model(&serde_json::from_str(file.model.get()).ok()?, &words.kind)?;
        let added_tokens = read_added_tokens(&file.added_tokens, &model.lexicon)?;
        let config = Self { model, normalizer: words.normalizer, prefix: words.prefix, around, added_tokens };
        config.added_tokens_are_known().then_some(config)
    }

    /// Whether looking for the added tokens in the text as it is gives what `tokenizers` finds.
    fn added_tokens_are_known(&self) -> bool {
        let sentence_piece = matches!(self.model.alphabet, Alphabet::Pieces { .. });
        let tokens = || self.added_tokens.iter().map(|(_, token)| token);
        let normalized = tokens().filter(|token| token.normalized).all(|token| {
            // Normalisation must change neither the token nor, by a blank in front, what is around it.
            let blank = token.content.contains([' ', BLANK]);
            match self.normalizer {
                Normalizer::None => {
                    !sentence_piece || (!blank && token.is_plain() && self.prefix != Prefix::Always)
                }
                Normalizer::Nfc => is_nfc(&token.content),
            }
        });
        // Tokens that take white space with them overlap where others are white space.
        let greedy = tokens().any(|token| token.lstrip || token.rstrip);
        let blank = |token: &AddedToken| token.content.trim() != token.content;
        normalized && !(greedy && tokens().any(blank))
    }
}

fn kind(part: &Value) -> &str {
    part.get("type").and_then(Value::as_str).unwrap_or_default()
}

/// The steps of a sequence, or the one step.
fn steps<'v>(part: &'v Value, key: &str) -> Option<Vec<&'v Value>> {
    if part.is_null() {
        return Some(Vec::new());
    }
    if kind(part) == "Sequence" {
        Some(part.get(key)?.as_array()?.iter().collect())
    } else {
        Some(vec![part])
    }
}

fn read_words(normalizer: &Value, pre_tokenizer: &Value) -> Option<Words> {
    let normalizers = steps(normalizer, "normalizers")?;
    let splits = steps(pre_tokenizer, "pretokenizers")?;
    let is_replacement = |step: &Value| {
        kind(step) == "Replace" && step["pattern"]["String"] == " " && step["content"] == BLANK.to_string()
    };
    let prepends = |step: &Value| kind(step) == "Prepend" && step["prepend"] == BLANK.to_string();
    if let Some((splitter, prefix)) = read_byte_level(&splits) {
        let normalizer = match normalizers.as_slice() {
            [] => Normalizer::None,
            [only] if kind(only) == "NFC" => Normalizer::Nfc,
            _ => return None,
        };
        return Some(Words { normalizer, prefix, kind: WordKind::ByteLevel(splitter) });
    }
    let (mut blank_in_front, blanks_replaced) = match normalizers.as_slice() {
        [] => (Prefix::Never, false),
        [only] if is_replacement(only) => (Prefix::Never, true),
        [first, second] if prepends(first) && is_replacement(second) => (Prefix::Always, true),
        _ => return None,
    };
    let mut at_blanks = false;
    match splits.as_slice() {
        [] if blanks_replaced => {}
        // There is no blank left to split at.
        [only]
            if blanks_replaced
                && kind(only) == "Split"
                && only["pattern"]["String"] == " "
                && only["invert"] == false => {}
        [only] if kind(only) == "Metaspace" && only["replacement"] == BLANK.to_string() => {
            at_blanks = only.get("split")?.as_bool()?;
            let scheme = match only.get("prepend_scheme")?.as_str()? {
                "always" => Prefix::IfAbsent,
                "first" => Prefix::FirstIfAbsent,
                "never" => Prefix::Never,
                _ => return None,
            };
            if blank_in_front == Prefix::Never {
                blank_in_front = scheme;
            } else if scheme != Prefix::Never {
                return None;
            }
        }
        _ => return None,
    }
    Some(Words { normalizer: Normalizer::None, prefix: blank_in_front, kind: WordKind::Pieces { at_blanks } })
}

/// Patterns and `Digits`, then `ByteLevel`.
fn read_byte_level(splits: &[&Value]) -> Option<(Option<Splitter>, Prefix)> {
    let (last, first) = splits.split_last()?;
    if kind(last) != "ByteLevel" {
        return None;
    }
    let prefix = last.get("add_prefix_space")?.as_bool()?;
    let own_pattern = last.get("use_regex")?.as_bool()?;
    let splitter = match first {
        [] => own_pattern.then_some(Splitter::Gpt2 { digits: None }),
        [only] if kind(only) == "Digits" && own_pattern => {
            Some(Splitter::Gpt2 { digits: Some(only.get("individual_digits")?.as_bool()?) })
        }
        patterns if !own_pattern => {
            let patterns =
                patterns.iter().map(|split| pattern(split, patterns.len())).collect::<Option<Vec<_>>>()?;
            Some(Splitter::of_patterns(&patterns)?)
        }
        _ => return None,
    };
    // After other splits, every word would get a blank.
    if prefix && !first.is_empty() {
        return None;
    }
    Some((splitter, if prefix { Prefix::IfAbsent } else { Prefix::Never }))
}

/// The pattern of a `Split` that keeps matches and what is between as words.
fn pattern(split: &Value, count: usize) -> Option<&str> {
    if kind(split) != "Split" {
        return None;
    }
    let isolated = split["behavior"] == "Isolated" && split["invert"] == false;
    // Removing what does not match removes nothing where a single pattern matches everywhere, as those known do.
    let removed = split["behavior"] == "Removed" && split["invert"] == true && count == 1;
    if isolated || removed { split.get("pattern")?.get("Regex")?.as_str() } else { None }
}

fn read_model(file: &BpeFile<'_>, words: &WordKind) -> Option<Model> {
    let absent = |part: &Option<String>| part.as_deref().unwrap_or_default().is_empty();
    let plain = absent(&file.continuing_subword_prefix) && absent(&file.end_of_word_suffix);
    if file.kind.as_deref() != Some("BPE") || file.dropout.is_some_and(|dropout| dropout != 0.0) || !plain {
        return None;
    }
    let lexicon = read_vocabulary(file.vocab).ok()?;
    let mut widths = widths(&lexicon)?;
    let whole_words = file.ignore_merges.unwrap_or_default();
    let byte_fallback = file.byte_fallback.unwrap_or_default();
    match *words {
        WordKind::ByteLevel(splitter) => {
            let ids = Box::new(std::array::from_fn(|byte| {
                let character = u8::try_from(byte).map(character_of).unwrap_or_default();
                lexicon.id(character.encode_utf8(&mut [0; 4])).unwrap_or(NO_TOKEN)
            }));
            let complete = !ids.contains(&NO_TOKEN);
            // Bytes without a token are left out, unless there is something to put in their place.
            if !complete && (byte_fallback || file.unk_token.is_some()) {
                return None;
            }
            let mut cutter = Cutter::new(false);
            let mut bytes = Vec::new();
            let mut join = |token: &str| {
                bytes.clear();
                byte_level::decode(token, &mut bytes);
                cutter.join_bytes(&bytes);
            };
            let mut made = vec![None; lexicon.bound()];
            let mut ranks = 0..;
            let merges = read_merges(file.merges, &lexicon, |token, id| {
                join(token);
                made[id as usize] = ranks.next();
            });
            let merges = merges.ok()?;
            if whole_words {
                // Then tokens are made without merges, too.
                lexicon.iter().for_each(|(_, token)| join(token));
            }
            let alphabet = Alphabet::Bytes { ids, complete, splitter };
            let characters = Box::default();
            let mut model = Model { lexicon, merges, characters, cutter, alphabet, whole_words, widths };
            model.set_characters(&made);
            Some(model)
        }
        WordKind::Pieces { at_blanks } => {
            // A whole text that is a token would be one, and so it may not be cut.
            if whole_words || !byte_fallback {
                return None;
            }
            let bytes: Box<[u32; 256]> = Box::new(std::array::from_fn(|byte| {
                u8::try_from(byte).ok().and_then(|byte| lexicon.id(&byte_token(byte))).unwrap_or(NO_TOKEN)
            }));
            for (byte, &id) in (0..).zip(bytes.iter()) {
                *widths.get_mut(id as usize)? = BYTE_TOKEN | byte;
            }
            let ascii = Box::new(std::array::from_fn(|code| {
                u8::try_from(code).map_or(NO_TOKEN, |code| piece(&lexicon, char::from(code)))
            }));
            let mut cutter = Cutter::new(at_blanks);
            let mut makes_byte_token = false;
            let merges = read_merges(file.merges, &lexicon, |token, id| {
                cutter.join(token);
                makes_byte_token |= widths.get(id as usize).is_some_and(|width| width & BYTE_TOKEN != 0);
            })
            .ok()?;
            if makes_byte_token {
                return None;
            }
            let alphabet = Alphabet::Pieces { bytes, ascii };
            let characters = Box::default();
            let mut model = Model { lexicon, merges, characters, cutter, alphabet, whole_words, widths };
            model.set_characters(&[]);
            Some(model)
        }
    }
}

/// Gives ids to the added tokens as `tokenizers` does: the vocabulary's, or the next ones.
fn read_added_tokens(tokens: &[AddedToken], lexicon: &Lexicon) -> Option<Vec<(u32, AddedToken)>> {
    let mut next = u32::try_from(lexicon.len()).ok()?;
    let mut known: Vec<(u32, AddedToken)> = Vec::with_capacity(tokens.len());
    let mut seen = std::collections::HashSet::new();
    for token in tokens {
        if token.content.is_empty() {
            continue;
        }
        if !seen.insert(&token.content) {
            return None;
        }
        let id = lexicon.id(&token.content).unwrap_or_else(|| {
            next += 1;
            next - 1
        });
        known.push((id, token.clone()));
    }
    Some(known)
}
