//! The completions request.

use crate::generation::Generation;
use crate::{Error, Fields, Json, Result, ServingConfig, bounds, fields};

/// A completions request, checked.
#[derive(Debug, Clone)]
pub struct CompletionRequest<'v> {
    pub prompts: Vec<Prompt<'v>>,
    pub generation: Generation,
    pub echo: bool,
    pub logprobs: Option<i64>,
}

/// One prompt: text to encode, or ids as they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prompt<'v> {
    Text(&'v str),
    Ids(Vec<u32>),
}

/// What `max_tokens` is where a completions request does not say.
pub const DEFAULT_MAX_TOKENS: i64 = 16;

impl<'v> CompletionRequest<'v> {
    /// Reads a completions request. `from` is the body, or the `completion_request` inside one.
    ///
    /// # Errors
    /// A validation error on the first field at fault; a bad-request error where fields contradict each other.
    pub fn parse(from: &Fields<'v, '_>, config: &ServingConfig) -> Result<Self> {
        let prompts = prompts(from, config)?;
        let mut generation = Generation::parse(from, true, &config.bounds)?;
        generation.max_tokens.get_or_insert(DEFAULT_MAX_TOKENS);
        let echo = from.boolean("echo")?.unwrap_or(false);
        let logprobs = from.integer("logprobs")?;
        if let Some(count) = logprobs.filter(|count| *count < 0) {
            let message = format!("logprobs must be at least 0, got {count}");
            return Err(Error::bad_parameter("logprobs", message));
        }
        if from.string("suffix")?.is_some_and(|suffix| !suffix.is_empty()) {
            let message = "suffix is for models that fill in the middle, and this one is not served as such";
            return Err(Error::bad_parameter("suffix", message));
        }
        Ok(Self { prompts, generation, echo, logprobs })
    }
}

fn prompts<'v>(from: &Fields<'v, '_>, config: &ServingConfig) -> Result<Vec<Prompt<'v>>> {
    if from.some("prompt_embeds").is_some() {
        let message = "prompt_embeds are not accepted by this server: send text or token ids";
        return Err(Error::bad_parameter("prompt_embeds", message));
    }
    let path = from.path("prompt");
    let missing = || Error::bad_parameter("prompt", "prompt must be given and not be empty");
    match from.some("prompt") {
        None => Err(missing()),
        Some(Json::Str(text)) if text.is_empty() => Err(missing()),
        Some(Json::Str(text)) => Ok(vec![Prompt::Text(text)]),
        Some(Json::Array(items)) => {
            bounds::count(&path, prompt_count(items), config.bounds.prompts)?;
            match items.first() {
                None => Err(Error::bad_request("prompt must hold at least one prompt")),
                Some(Json::Str(first)) if !all_strings(items) && first.trim().parse::<i64>().is_err() => {
                    let message = "prompt must be strings only, ids only or lists of ids only";
                    Err(Error::validation(&format!("{path}.0"), message))
                }
                Some(Json::Str(_)) if all_strings(items) => {
                    items.iter().map(|item| fields::string(item, &path).map(Prompt::Text)).collect()
                }
                Some(Json::Array(_)) => items
                    .iter()
                    .enumerate()
                    .map(|(index, item)| fields::token_ids(item, &format!("{path}.{index}")).map(Prompt::Ids))
                    .collect(),
                Some(_) => items
                    .iter()
                    .enumerate()
                    .map(|(index, item)| fields::token_id(item, || format!("{path}.{index}")))
                    .collect::<Result<_>>()
                    .map(|ids| vec![Prompt::Ids(ids)]),
            }
        }
        Some(other) => Err(fields::wrong(&path, "a string, a list of strings, or token ids", other)),
    }
}

fn all_strings(items: &[Json<'_>]) -> bool {
    items.iter().all(|item| matches!(item, Json::Str(_)))
}

fn prompt_count(items: &[Json<'_>]) -> usize {
    if matches!(items.first(), Some(Json::Str(_) | Json::Array(_))) { items.len() } else { 1 }
}
