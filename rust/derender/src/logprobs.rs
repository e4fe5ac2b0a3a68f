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

/// How tokens are written.
#[derive(Clone, Copy)]
pub struct Tokens<'d> {
    pub detokenizer: &'d Detokenizer,
    /// As `token_id:N` (`return_tokens_as_token_ids`), which tells tokens of one text apart.
    pub as_ids: bool,
    /// How many alternatives a chat shows: the likeliest. An engine gives the sampled token beside them.
    pub top: Option<usize>,
}

impl Tokens<'_> {
    fn token(self, context: &[u32], id: u32) -> String {
        if self.as_ids { format!("token_id:{id}") } else { token_text(self.detokenizer, context, id) }
    }

    /// The alternatives that are shown, the likeliest first where not all are.
    fn alternatives(self, top: &[LogProb]) -> Vec<LogProb> {
        let mut shown = top.to_vec();
        if let Some(count) = self.top.filter(|count| *count < shown.len()) {
            shown.sort_by(|one, other| other.logprob.total_cmp(&one.logprob));
            shown.truncate(count);
        }
        shown
    }

    /// The text's bytes; none where there is no text.
    fn bytes(self, id: u32, text: &str) -> Value {
        let known = !self.as_ids && self.detokenizer.vocabulary().is_known(id);
        if known { json!(text.as_bytes()) } else { Value::Null }
    }
}

/// The log-probabilities of a prompt with the text of each token: `{"ID": {"logprob", "rank", "decoded_token"}}` for
/// each position, null where nothing stands before. An engine without a tokenizer leaves the text null.
#[must_use]
pub fn prompt(detokenizer: &Detokenizer, mut positions: Value) -> Value {
    let mut context = Vec::new();
    for position in positions.as_array_mut().into_iter().flatten() {
        let Value::Object(entries) = position else { continue };
        for (id, entry) in entries.iter_mut() {
            let (Ok(id), Value::Object(entry)) = (id.parse::<u32>(), entry) else { continue };
            if entry.get("decoded_token").is_none_or(Value::is_null) {
                entry.insert("decoded_token".to_owned(), token_text(detokenizer, &context, id).into());
            }
        }
        // The token of the prompt stands first.
        if let Some(id) = entries.keys().next().and_then(|id| id.parse().ok()) {
            remember(&mut context, &[id]);
        }
    }
    positions
}

/// Remembers ids as context for the ones after them.
pub fn remember(context: &mut Vec<u32>, ids: &[u32]) {
    context.extend_from_slice(ids);
    let excess = context.len().saturating_sub(CONTEXT);
    context.drain(..excess);
}

/// The chat shape: `{"content": [{token, logprob, bytes, top_logprobs}]}`.
#[must_use]
pub fn chat(names: Tokens<'_>, context: &mut Vec<u32>, entries: &[(&TokenLogProbs, bool)]) -> Value {
    let mut tokens = Vec::with_capacity(entries.len());
    for &(entry, shown) in entries {
        if shown {
            let mut value = chat_entry(names, context, entry.chosen);
            if let Value::Object(members) = &mut value {
                let top = names.alternatives(&entry.top);
                let top = top.into_iter().map(|top| chat_entry(names, context, top)).collect();
                members.insert("top_logprobs".to_owned(), top);
            }
            tokens.push(value);
        }
        remember(context, &[entry.chosen.token_id]);
    }
    json!({"content": tokens})
}

fn chat_entry(names: Tokens<'_>, context: &[u32], entry: LogProb) -> Value {
    let text = names.token(context, entry.token_id);
    let bytes = names.bytes(entry.token_id, &text);
    json!({"token": text, "logprob": entry.logprob, "bytes": bytes})
}

/// The completions shape: parallel lists, and a dictionary of alternatives for each token. `offset` counts the
/// characters of the token texts so far.
#[must_use]
pub fn completions(
    names: Tokens<'_>,
    context: &mut Vec<u32>,
    offset: &mut u32,
    entries: &[(&TokenLogProbs, bool)],
) -> Value {
    let (mut offsets, mut logprobs, mut tokens, mut tops) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for &(entry, shown) in entries {
        if shown {
            let text = names.token(context, entry.chosen.token_id);
            let mut top = Map::new();
            for &alternative in &entry.top {
                let text = names.token(context, alternative.token_id);
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
