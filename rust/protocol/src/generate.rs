//! The generate request: token ids and how to go on from them.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::sampling::raw;
use crate::{Error, Fields, Generation, Json, Result, SamplingParams, ServingConfig, bounds, fields, json};

/// The body of `/inference/v1/generate`, as the render endpoints answer it.
#[derive(Debug, Serialize)]
pub struct GenerateRequest {
    pub request_id: String,
    pub token_ids: Vec<u32>,
    /// Half-open code-point ranges of the prompt text.
    pub token_offsets: Option<Vec<[u32; 2]>>,
    /// 1 for a token of an assistant turn, 0 for others; absent where it was not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assistant_tokens_mask: Option<Option<Vec<u8>>>,
    pub features: Option<Box<RawValue>>,
    pub content_parts: Option<Box<RawValue>>,
    pub sampling_params: SamplingParams,
    pub model: Option<String>,
    pub reasoning_ended: Option<bool>,
    pub reasoning_parser_kwargs: Option<Box<RawValue>>,
    pub return_token_ids: Option<bool>,
    pub output_mode: OutputMode,
    pub stream: bool,
    pub stream_options: Option<StreamOptions>,
    pub cache_salt: Option<String>,
    pub priority: i64,
    pub kv_transfer_params: Option<Box<RawValue>>,
    pub ec_transfer_params: Option<Box<RawValue>>,
    /// What a derenderer needs of the request, where the engine is asked to carry it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parse_context: Option<Box<RawValue>>,
}

/// What the engine answers with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OutputMode {
    Tokens,
    Text,
    Derender,
}

/// Whether and how often a stream reports usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct StreamOptions {
    pub include_usage: bool,
    pub continuous_usage_stats: bool,
}

impl StreamOptions {
    /// Reads `stream_options`.
    ///
    /// # Errors
    /// A validation error where a field is no boolean.
    pub fn parse(from: &Fields<'_, '_>) -> Result<Option<Self>> {
        let Some(options) = from.object("stream_options")? else { return Ok(None) };
        Ok(Some(Self {
            include_usage: options.boolean("include_usage")?.unwrap_or(false),
            continuous_usage_stats: options.boolean("continuous_usage_stats")?.unwrap_or(false),
        }))
    }
}

/// `cache_salt`: 1 to 1,024 characters.
///
/// # Errors
/// A bad-request error on an empty one, a validation error on a long one or another type.
pub fn cache_salt(from: &Fields<'_, '_>) -> Result<Option<String>> {
    let Some(salt) = from.string("cache_salt")? else { return Ok(None) };
    if salt.is_empty() {
        return Err(Error::bad_parameter("cache_salt", "cache_salt must not be empty where it is given"));
    }
    let length = salt.chars().count();
    if length > 1024 {
        let message = format!("cache_salt has {length} characters; at most 1024 are accepted");
        return Err(Error::validation("cache_salt", message));
    }
    Ok(Some(salt.to_owned()))
}

impl GenerateRequest {
    /// A rendered request: the prompt, how to go on from it, and what `generation` carries along.
    #[must_use]
    pub fn rendered(
        request_id: String,
        token_ids: Vec<u32>,
        sampling_params: SamplingParams,
        generation: &Generation,
    ) -> Self {
        Self {
            request_id,
            token_ids,
            token_offsets: None,
            assistant_tokens_mask: None,
            features: None,
            content_parts: None,
            sampling_params,
            model: generation.model.clone(),
            reasoning_ended: None,
            reasoning_parser_kwargs: None,
            // The derenderer reads it from the request itself.
            return_token_ids: None,
            output_mode: OutputMode::Tokens,
            stream: generation.stream,
            stream_options: generation.stream_options,
            cache_salt: generation.cache_salt.clone(),
            priority: generation.priority,
            // They travel in the sampling parameters' extra_args.
            kv_transfer_params: None,
            ec_transfer_params: None,
            parse_context: None,
        }
    }

    /// Reads and checks a generate request.
    ///
    /// # Errors
    /// A validation error on the first field at fault, and a bad-request error for what this model or a
    /// tokens-only server cannot do.
    pub fn parse(body: &[u8], config: &ServingConfig) -> Result<Self> {
        let value = json::parse(body, &config.bounds)?;
        let from = Fields::of_body(&value)?;
        let request_id = from.string("request_id")?.unwrap_or_default().to_owned();
        let token_ids = token_ids(&from)?;
        let features = features(&from)?;
        let sampling_params = from.required("sampling_params")?;
        let sampling_params = Fields::of(sampling_params, "sampling_params".to_owned())?;
        // The reference refuses the object as a whole, whichever of its fields is at fault.
        let sampling_params = SamplingParams::parse(&sampling_params).and_then(|params| {
            params.check(&config.bounds)?;
            Ok(params)
        });
        let sampling_params = sampling_params.map_err(|error| match error {
            Error::Validation { message, .. } => Error::validation("sampling_params", message),
            other => other,
        })?;
        let request = Self {
            request_id,
            token_ids,
            token_offsets: None,
            assistant_tokens_mask: None,
            features,
            content_parts: None,
            sampling_params,
            model: from.string("model")?.map(str::to_owned),
            reasoning_ended: from.boolean("reasoning_ended")?,
            reasoning_parser_kwargs: raw(&from, "reasoning_parser_kwargs")?,
            return_token_ids: from.boolean("return_token_ids")?,
            output_mode: output_mode(&from)?,
            stream: from.boolean("stream")?.unwrap_or(false),
            stream_options: StreamOptions::parse(&from)?,
            cache_salt: cache_salt(&from)?,
            priority: from.integer_or("priority", 0)?,
            kv_transfer_params: raw(&from, "kv_transfer_params")?,
            ec_transfer_params: raw(&from, "ec_transfer_params")?,
            parse_context: raw(&from, "parse_context")?,
        };
        request.check(config)?;
        Ok(request)
    }

    fn check(&self, config: &ServingConfig) -> Result<()> {
        bounds::model(self.model.as_deref(), &config.served_model_names)?;
        let params = &self.sampling_params;
        if config.tokens_only && self.output_mode != OutputMode::Tokens {
            let message =
                "this server answers in token ids only: use output_mode=\"tokens\" and a derenderer";
            return Err(Error::bad_request(message));
        }
        bounds::string_bytes("request_id", &self.request_id, &config.bounds)?;
        bounds::strings_bytes("stop", &params.stop, &config.bounds)?;
        bounds::strings_bytes("bad_words", &params.bad_words, &config.bounds)?;
        bounds::prompt_fits(self.token_ids.len(), config.max_model_len)?;
        for id in &self.token_ids {
            bounds::token_id("token_ids", *id, config.vocab_size)?;
        }
        for (name, value) in [("logprobs", params.logprobs), ("prompt_logprobs", params.prompt_logprobs)] {
            if let Some(value) = value {
                bounds::logprobs(name, value, config)?;
            }
        }
        if let Some(ids) = &params.allowed_token_ids
            && ids.is_empty()
        {
            return Err(Error::bad_parameter("allowed_token_ids", "allowed_token_ids must not be empty"));
        }
        let biased: Option<Vec<i64>> =
            params.logit_bias.as_ref().map(|biases| biases.keys().copied().collect());
        for (name, ids) in [
            ("logit_bias", biased.as_deref()),
            ("allowed_token_ids", params.allowed_token_ids.as_deref()),
            ("stop_token_ids", Some(params.stop_token_ids.as_slice())),
            ("logprob_token_ids", params.logprob_token_ids.as_deref()),
        ] {
            bounds::known_ids(name, ids.unwrap_or_default(), config.vocab_size)?;
        }
        self.check_prompt_scores(config)
    }

    /// `prompt_logprob_token_ids`: a row for each prompt token after `prompt_logprob_start`.
    fn check_prompt_scores(&self, config: &ServingConfig) -> Result<()> {
        const NAME: &str = "prompt_logprob_token_ids";
        let params = &self.sampling_params;
        let Some(rows) = &params.prompt_logprob_token_ids else {
            return match params.prompt_logprob_start {
                Some(start) if start != 0 => Err(Error::bad_parameter(
                    "prompt_logprob_start",
                    format!("prompt_logprob_start goes with {NAME}, which is not given"),
                )),
                _ => Ok(()),
            };
        };
        if self.stream {
            return Err(Error::bad_parameter(NAME, format!("{NAME} is not answered in a stream")));
        }
        let last = self.token_ids.len() - 1;
        let start =
            usize::try_from(params.prompt_logprob_start.unwrap_or(0)).ok().filter(|&start| start < last);
        let Some(start) = start else {
            let message = format!(
                "prompt_logprob_start must be from 0 to the prompt length less 2 ({}), got {}",
                last.saturating_sub(1),
                params.prompt_logprob_start.unwrap_or(0)
            );
            return Err(Error::bad_parameter("prompt_logprob_start", message));
        };
        if rows.len() != last - start {
            let message = format!("{NAME} must have {} rows here, got {}", last - start, rows.len());
            return Err(Error::bad_parameter(NAME, message));
        }
        for row in rows {
            let count = i64::try_from(row.len()).unwrap_or(i64::MAX);
            bounds::logprobs(NAME, count, config)?;
            let named: Vec<i64> = row.iter().copied().filter(|&id| id != -1).collect();
            bounds::known_ids(NAME, &named, config.vocab_size)?;
        }
        Ok(())
    }
}

fn token_ids(from: &Fields<'_, '_>) -> Result<Vec<u32>> {
    let items = fields::list(from.required("token_ids")?, "token_ids")?;
    if items.is_empty() {
        return Err(Error::validation("token_ids", "token_ids must hold at least one id"));
    }
    let mut ids = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let id = fields::token_id(item, || format!("token_ids.{index}")).map_err(|error| match item {
            // A negative id is a fault of the list's meaning, not of the item's type.
            Json::Int(number) if *number < 0 => {
                Error::validation("token_ids", format!("token_ids must not hold negative ids, got {number}"))
            }
            _ => error,
        })?;
        ids.push(id);
    }
    Ok(ids)
}

/// `output_mode` of a generate request, or of a request to be rendered to one.
///
/// # Errors
/// A validation error for an unknown mode.
pub fn output_mode(from: &Fields<'_, '_>) -> Result<OutputMode> {
    match from.raw("output_mode") {
        None => Ok(OutputMode::Tokens),
        Some(Json::Str(mode)) if mode == "tokens" => Ok(OutputMode::Tokens),
        Some(Json::Str(mode)) if mode == "text" => Ok(OutputMode::Text),
        Some(Json::Str(mode)) if mode == "derender" => Ok(OutputMode::Derender),
        Some(other) => {
            let path = from.path("output_mode");
            Err(fields::wrong(&path, "\"tokens\", \"text\" or \"derender\"", other))
        }
    }
}

/// Multimodal features: the two maps must speak of the same modalities.
fn features(from: &Fields<'_, '_>) -> Result<Option<Box<RawValue>>> {
    let Some(found) = from.object("features")? else { return Ok(None) };
    let modalities = |key: &str| -> Result<BTreeSet<String>> {
        let inner = Fields::of(found.required(key)?, found.path(key))?;
        match inner.value() {
            Json::Object(members) => Ok(members.iter().map(|(name, _)| name.to_string()).collect()),
            _ => Ok(BTreeSet::new()),
        }
    };
    if modalities("mm_hashes")? != modalities("mm_placeholders")? {
        let message = "features.mm_hashes and features.mm_placeholders must use the same modalities";
        return Err(Error::validation("features", message));
    }
    raw(from, "features")
}
