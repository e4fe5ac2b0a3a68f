//! Token counts of an answer.

use dragoman_protocol::generate_response::Usage;
use serde::Serialize;

/// Counts, as the client gets them.
#[derive(Debug, Serialize)]
pub struct Counts {
    prompt_tokens: i64,
    total_tokens: i64,
    completion_tokens: i64,
    prompt_tokens_details: Option<Details>,
    completion_tokens_details: (),
}

#[derive(Debug, Serialize)]
struct Details {
    cached_tokens: i64,
}

/// The counts of a whole answer.
#[must_use]
pub fn usage(prompt_tokens: i64, completion_tokens: i64, cached_tokens: Option<i64>) -> Counts {
    Counts {
        prompt_tokens,
        total_tokens: prompt_tokens.saturating_add(completion_tokens),
        completion_tokens,
        prompt_tokens_details: cached_tokens.map(|cached_tokens| Details { cached_tokens }),
        completion_tokens_details: (),
    }
}

/// The counts of a chunk: the engine's, with the caller's prompt length where it gave one.
#[must_use]
pub fn of_chunk(engine: Usage, prompt_tokens: Option<i64>) -> Counts {
    usage(prompt_tokens.unwrap_or(engine.prompt_tokens), engine.completion_tokens, engine.cached_tokens)
}
