//! Log-probabilities of ids to the shapes of the OpenAI API, with the text of each token.
//!
//! A token that ends inside a character has the text that it completes: none, until the token that makes the character
//! whole, which then has all of it. The ids before it are the context that decides; alternatives are read in the
//! context of what was sampled. This is how vLLM gives them.

use dragoman_protocol::generate_response::{LogProb, TokenLogProbs};
use serde_json::{Map, Value, json};

use crate::detok::Detokenizer;

/// Ids before a token that its text may depend on: a character has at most 4 bytes.
pub const CONTEXT: usize = 4;

/// The text of `id` after `context`.
#[must_use]
pub fn token_text(detokenizer: &Detokenizer, context: &[u32], id: u32) -> String {
    let alone = detokenizer.text(&[id]);
    if !alone.ends_with('\u{fffd}') {
        return alone;
    }
    for count in 1..=context.len().min(CONTEXT) {
        let context = &context[context.len() - count..];
        let mut ids = context.to_vec();
        ids.push(id);
        let full = detokenizer.text(&ids);
        if full.ends_with('\u{fffd}') {
            continue;
        }
        let partial = |id: &&u32| detokenizer.text(&[**id]).ends_with('\u{fffd}');
        let clean = context.len() - context.iter().rev().take_while(partial).count();
        let before = detokenizer.text(&context[..clean]);
        return full.strip_prefix(&before).unwrap_or(&full).to_owned();
    }
    String::new()
}

/// Remembers ids as context for the ones after them.
pub fn remember(context: &mut Vec<u32>, ids: &[u32]) {
    context.extend_from_slice(ids);
    let excess = context.len().saturating_sub(CONTEXT);
    context.drain(..excess);
}

/// The chat shape: `{"content": [{token, logprob, bytes, top_logprobs}]}`.
#[must_use]
pub fn chat(detokenizer: &Detokenizer, context: &mut Vec<u32>, entries: &[(&TokenLogProbs, bool)]) -> Value {
    let mut tokens = Vec::with_capacity(entries.len());
    for &(entry, shown) in entries {
        if shown {
            let mut value = chat_entry(detokenizer, context, entry.chosen);
            if let Value::Object(members) = &mut value {
                let top = entry.top.iter().map(|&top| chat_entry(detokenizer, context, top)).collect();
                members.insert("top_logprobs".to_owned(), top);
            }
            tokens.push(value);
        }
        remember(context, &[entry.chosen.token_id]);
    }
    json!({"content": tokens})
}

fn chat_entry(detokenizer: &Detokenizer, context: &[u32], entry: LogProb) -> Value {
    let text = token_text(detokenizer, context, entry.token_id);
    let known = detokenizer.vocabulary().is_known(entry.token_id);
    let bytes = if known { json!(text.as_bytes()) } else { Value::Null };
    json!({"token": text, "logprob": entry.logprob, "bytes": bytes})
}

/// The completions shape: parallel lists, and a dictionary of alternatives for each token. `offset` counts the
/// characters of the token texts so far.
#[must_use]
pub fn completions(
    detokenizer: &Detokenizer,
    context: &mut Vec<u32>,
    offset: &mut u32,
    entries: &[(&TokenLogProbs, bool)],
) -> Value {
    let (mut offsets, mut logprobs, mut tokens, mut tops) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for &(entry, shown) in entries {
        if shown {
            let text = token_text(detokenizer, context, entry.chosen.token_id);
            let mut top = Map::new();
            for &alternative in &entry.top {
                let text = token_text(detokenizer, context, alternative.token_id);
                // Alternatives with one text share one entry, which keeps the last one's value.
                top.insert(text, json!(alternative.logprob));
            }
            offsets.push(*offset);
            *offset = offset.saturating_add(u32::try_from(text.chars().count()).unwrap_or(u32::MAX));
            tokens.push(text);
            logprobs.push(entry.chosen.logprob);
            tops.push(if entry.top.is_empty() { Value::Null } else { Value::Object(top) });
        }
        remember(context, &[entry.chosen.token_id]);
    }
    json!({"text_offset": offsets, "token_logprobs": logprobs, "tokens": tokens, "top_logprobs": tops})
}
