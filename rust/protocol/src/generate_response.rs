//! What an engine answered on `/inference/v1/generate`, as a derender request brings it back.

use serde::Serialize;

use crate::fields::{self, join};
use crate::{Body, Error, Fields, Json, Result, ServingConfig, bounds, json};

/// Why a generation stopped beyond its finish reason: a stop token's id, or a stop string.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum StopReason {
    Token(i64),
    Text(String),
}

/// One alternative of a position: `token_id`, `logprob` (at least -9999).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogProb {
    pub token_id: u32,
    pub logprob: f64,
}

/// The log-probability of a generated token, with its alternatives.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenLogProbs {
    pub chosen: LogProb,
    pub top: Vec<LogProb>,
}

/// A choice of the response or the chunk.
#[derive(Debug, Clone)]
pub struct GenerateChoice<'v, 'a> {
    pub index: i64,
    pub token_ids: Vec<u32>,
    pub finish_reason: Option<&'v str>,
    pub stop_reason: Option<StopReason>,
    /// Absent, or one entry per generated token where the content is there.
    pub logprobs: Option<Option<Vec<TokenLogProbs>>>,
    pub routed_experts: Option<&'v Json<'a>>,
    pub weight_versions: Option<&'v Json<'a>>,
}

/// Token counts as the engine gave them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    pub prompt_tokens: i64,
    pub completion_tokens: i64,
    pub cached_tokens: Option<i64>,
}

/// A response, or one chunk of a stream.
#[derive(Debug, Clone)]
pub struct GenerateResponse<'v, 'a> {
    pub request_id: Option<&'v str>,
    pub choices: Vec<GenerateChoice<'v, 'a>>,
    pub usage: Option<Usage>,
    pub prompt_token_ids: Option<Vec<u32>>,
    pub prompt_logprobs: Option<&'v Json<'a>>,
    pub metrics: Option<&'v Json<'a>>,
    pub kv_transfer_params: Option<&'v Json<'a>>,
    pub ec_transfer_params: Option<&'v Json<'a>>,
}

impl<'v, 'a> GenerateResponse<'v, 'a> {
    /// Reads a response; counts and ids are checked before anything is decoded. `streamed` chunks have no finish
    /// reason unless they name one; a whole response that names none has stopped.
    ///
    /// # Errors
    /// Validation errors, and the bounds on choices, ids, log-probabilities and prompt.
    pub fn parse(
        fields: &Fields<'v, 'a>,
        streamed: bool,
        body: &Body<'_>,
        config: &ServingConfig,
    ) -> Result<Self> {
        let mode = fields.string("output_mode")?.unwrap_or("tokens");
        if mode != "tokens" {
            let message = format!("output_mode must be \"tokens\", not {:?}", json::clip(mode));
            return Err(Error::validation(&fields.path("output_mode"), message));
        }
        let path = fields.path("choices");
        let choices = fields::list(fields.required("choices")?, &path)?;
        bounds::count(&path, choices.len(), config.bounds.choices)?;
        let choice = |(index, choice): (usize, &'v Json<'a>)| {
            let fields = Fields::of(choice, join(&path, &index.to_string()))?;
            GenerateChoice::parse(&fields, streamed, body, config)
        };
        let prompt_token_ids = fields.some("prompt_token_ids");
        let prompt_token_ids = prompt_token_ids
            .map(|ids| prompt_ids(ids, &fields.path("prompt_token_ids"), body, config))
            .transpose()?;
        let prompt_logprobs = fields.some("prompt_logprobs");
        if let Some(entries) = prompt_logprobs {
            let path = fields.path("prompt_logprobs");
            bounds::count(&path, fields::list(entries, &path)?.len(), config.max_model_len)?;
        }
        Ok(Self {
            request_id: fields.string("request_id")?,
            choices: choices.iter().enumerate().map(choice).collect::<Result<_>>()?,
            usage: fields.object("usage")?.map(|usage| Usage::parse(&usage)).transpose()?,
            prompt_token_ids,
            prompt_logprobs,
            metrics: fields.some("metrics"),
            kv_transfer_params: fields.some("kv_transfer_params"),
            ec_transfer_params: fields.some("ec_transfer_params"),
        })
    }
}

impl<'v, 'a> GenerateChoice<'v, 'a> {
    /// The choice with nothing generated.
    #[must_use]
    pub fn without_output(&self) -> Self {
        let logprobs = self.logprobs.as_ref().map(|entries| entries.as_ref().map(|_| Vec::new()));
        Self { token_ids: Vec::new(), logprobs, ..self.clone() }
    }

    fn parse(
        fields: &Fields<'v, 'a>,
        streamed: bool,
        body: &Body<'_>,
        config: &ServingConfig,
    ) -> Result<Self> {
        let index = fields::integer(fields.required("index")?, &fields.path("index"))?;
        let token_ids = match fields.some("token_ids") {
            Some(ids) => bounded_ids(ids, &fields.path("token_ids"), body, config)?,
            None => Vec::new(),
        };
        let finish_reason = match fields.raw("finish_reason") {
            None if !streamed => Some("stop"),
            _ => fields.string("finish_reason")?,
        };
        let stop_reason = match fields.some("stop_reason") {
            None => None,
            Some(Json::Str(text)) => Some(StopReason::Text(text.to_string())),
            Some(value) => Some(StopReason::Token(fields::integer(value, &fields.path("stop_reason"))?)),
        };
        let logprobs =
            fields.object("logprobs")?.map(|logprobs| logprob_content(&logprobs, config)).transpose()?;
        Ok(Self {
            index,
            token_ids,
            finish_reason,
            stop_reason,
            logprobs,
            routed_experts: fields.some("routed_experts"),
            weight_versions: fields.some("weight_versions"),
        })
    }
}

impl Usage {
    fn parse(fields: &Fields<'_, '_>) -> Result<Self> {
        let count = |key: &str| -> Result<i64> {
            let number = fields.integer(key)?.unwrap_or(0);
            bounds::token_count(&fields.path(key), number)?;
            Ok(number)
        };
        let cached_tokens = match fields.object("prompt_tokens_details")? {
            Some(details) => details.integer("cached_tokens")?,
            None => None,
        };
        Ok(Self {
            prompt_tokens: count("prompt_tokens")?,
            completion_tokens: count("completion_tokens")?,
            cached_tokens,
        })
    }
}

/// Ids of the vocabulary, at most as many as the context holds.
fn bounded_ids(value: &Json<'_>, path: &str, body: &Body<'_>, config: &ServingConfig) -> Result<Vec<u32>> {
    let ids = prompt_ids(value, path, body, config)?;
    // The highest id is found in blocks, as a search for the first that is too high is not.
    if ids.iter().fold(0, |highest, &id| id.max(highest)) as usize >= config.vocab_size {
        ids.iter().try_for_each(|&id| bounds::token_id(path, id, config.vocab_size))?;
    }
    Ok(ids)
}

/// Ids of a prompt: as many as the context holds. Those that no token has stand for no text.
///
/// # Errors
/// Validation errors, and the bound on their count, which is checked first.
pub fn prompt_ids(value: &Json<'_>, path: &str, body: &Body<'_>, config: &ServingConfig) -> Result<Vec<u32>> {
    if let Some(ids) = body.list(value) {
        bounds::id_count(path, ids.len(), config.max_model_len)?;
        return Ok(ids.to_vec());
    }
    bounds::id_count(path, fields::list(value, path)?.len(), config.max_model_len)?;
    fields::token_ids(value, path)
}

fn logprob_content(fields: &Fields<'_, '_>, config: &ServingConfig) -> Result<Option<Vec<TokenLogProbs>>> {
    let Some(entries) = fields.list("content")? else { return Ok(None) };
    let path = fields.path("content");
    bounds::id_count(&path, entries.len(), config.max_model_len)?;
    let mut content = Vec::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        let entry = Fields::of(entry, join(&path, &index.to_string()))?;
        let top = entry.list("top_logprobs")?.unwrap_or_default();
        let top_path = entry.path("top_logprobs");
        // Before they are read, there may be one more: the sampled token, where it is none of the likeliest.
        bounds::top_logprobs(&top_path, top.len().saturating_sub(1), config.max_logprobs)?;
        let alternative = |(index, alternative): (usize, &Json<'_>)| {
            logprob(&Fields::of(alternative, join(&top_path, &index.to_string()))?, config)
        };
        let top: Vec<LogProb> = top.iter().enumerate().map(alternative).collect::<Result<_>>()?;
        let chosen = logprob(&entry, config)?;
        let unlikely = |other: &&LogProb| other.token_id != chosen.token_id && other.logprob > chosen.logprob;
        let beside = top.iter().any(|other| other.token_id == chosen.token_id)
            && top.iter().filter(unlikely).count() + 1 == top.len();
        bounds::top_logprobs(&top_path, top.len() - usize::from(beside), config.max_logprobs)?;
        content.push(TokenLogProbs { chosen, top });
    }
    Ok(Some(content))
}

/// The lowest value that answers carry, as the reference's: JSON has no infinity.
const FLOOR: f64 = -9999.0;

fn logprob(fields: &Fields<'_, '_>, config: &ServingConfig) -> Result<LogProb> {
    let path = fields.path("token_id");
    let token_id = fields::token_id(fields.required("token_id")?, || path.clone())?;
    bounds::token_id(&path, token_id, config.vocab_size)?;
    let logprob = match fields.required("logprob")? {
        // A token that sampling masked out has no probability at all.
        Json::Float(number) if *number == f64::NEG_INFINITY => FLOOR,
        value => fields::number(value, &fields.path("logprob"))?,
    };
    Ok(LogProb { token_id, logprob: logprob.max(FLOOR) })
}
