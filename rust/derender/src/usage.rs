//! Token counts of an answer.

use dragoman_protocol::generate_response::Usage;
use serde_json::{Value, json};

/// Counts, as the client gets them.
#[must_use]
pub fn usage(prompt_tokens: i64, completion_tokens: i64, cached_tokens: Option<i64>) -> Value {
    let details = cached_tokens.map_or(Value::Null, |cached| json!({"cached_tokens": cached}));
    json!({
        "prompt_tokens": prompt_tokens,
        "total_tokens": prompt_tokens.saturating_add(completion_tokens),
        "completion_tokens": completion_tokens,
        "prompt_tokens_details": details,
        "completion_tokens_details": null,
    })
}

/// The counts of a chunk: the engine's, with the caller's prompt length where it gave one.
#[must_use]
pub fn of_chunk(engine: Usage, prompt_tokens: Option<i64>) -> Value {
    usage(prompt_tokens.unwrap_or(engine.prompt_tokens), engine.completion_tokens, engine.cached_tokens)
}
