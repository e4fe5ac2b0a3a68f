//! `sampling_params`: how an engine picks tokens. Names, types and defaults are vLLM's `SamplingParams`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::fields::{self, join};
use crate::{Bounds, Error, Fields, Json, Result, StructuredOutputs, bounds, json};

/// When an engine that answers in Python objects hands results over. Kept for engines that read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputKind {
    /// Only new tokens, for a stream.
    Delta = 1,
    /// Everything, once.
    FinalOnly = 2,
}

impl Serialize for OutputKind {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_u8(*self as u8)
    }
}

/// The sampling parameters of one generate request.
#[derive(Debug, Clone, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "the wire has these flags")]
pub struct SamplingParams {
    #[serde(skip_serializing_if = "is_one")]
    pub n: i64,
    pub presence_penalty: f64,
    pub frequency_penalty: f64,
    pub repetition_penalty: f64,
    pub temperature: f64,
    pub top_p: f64,
    #[serde(skip_serializing_if = "is_zero")]
    pub top_k: i64,
    pub min_p: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<i64>,
    pub stop: Vec<String>,
    pub stop_token_ids: Vec<i64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ignore_eos: bool,
    /// Absent means: up to the model's context length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<i64>,
    #[serde(skip_serializing_if = "is_zero")]
    pub min_tokens: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logprobs: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_logprobs: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_logprob_start: Option<i64>,
    /// Ids to score at each prompt position from `prompt_logprob_start` on; -1 stands for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_logprob_token_ids: Option<Vec<Vec<i64>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logprob_token_ids: Option<Vec<i64>>,
    #[serde(skip_serializing_if = "is_true")]
    pub detokenize: bool,
    #[serde(skip_serializing_if = "is_true")]
    pub skip_special_tokens: bool,
    #[serde(skip_serializing_if = "is_true")]
    pub spaces_between_special_tokens: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub include_stop_str_in_output: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_kind: Option<OutputKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_outputs: Option<StructuredOutputs>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logit_bias: Option<BTreeMap<i64, f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_token_ids: Option<Vec<i64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_args: Option<Box<RawValue>>,
    pub bad_words: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_token_budget: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repetition_detection: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watermarking: Option<bool>,
}

/// Defaults of the sampling fields that `generation_config.json` may set.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct DefaultSampling {
    pub repetition_penalty: Option<f64>,
    pub temperature: Option<f64>,
    pub top_k: Option<i64>,
    pub top_p: Option<f64>,
    pub min_p: Option<f64>,
    /// `max_new_tokens` of the generation config: an upper limit on every request's `max_tokens`.
    #[serde(alias = "max_new_tokens")]
    pub max_tokens: Option<i64>,
}

impl Default for SamplingParams {
    fn default() -> Self {
        Self {
            n: 1,
            presence_penalty: 0.0,
            frequency_penalty: 0.0,
            repetition_penalty: 1.0,
            temperature: 1.0,
            top_p: 1.0,
            top_k: 0,
            min_p: 0.0,
            seed: None,
            stop: Vec::new(),
            stop_token_ids: Vec::new(),
            ignore_eos: false,
            max_tokens: None,
            min_tokens: 0,
            logprobs: None,
            prompt_logprobs: None,
            prompt_logprob_start: None,
            prompt_logprob_token_ids: None,
            logprob_token_ids: None,
            detokenize: true,
            skip_special_tokens: true,
            spaces_between_special_tokens: true,
            include_stop_str_in_output: false,
            output_kind: None,
            structured_outputs: None,
            logit_bias: None,
            allowed_token_ids: None,
            extra_args: None,
            bad_words: Vec::new(),
            thinking_token_budget: None,
            repetition_detection: None,
            watermarking: None,
        }
    }
}

impl SamplingParams {
    /// Reads `sampling_params` of a generate request; absent fields take their defaults.
    ///
    /// # Errors
    /// A validation error on the first field of a wrong type, and what [`Self::check`] refuses.
    pub fn parse(from: &Fields<'_, '_>) -> Result<Self> {
        let plain = Self::default();
        let number = |key: &str, default: f64| from.number(key).map(|value| value.unwrap_or(default));
        let params = Self {
            n: from.integer_or("n", 1)?,
            presence_penalty: number("presence_penalty", plain.presence_penalty)?,
            frequency_penalty: number("frequency_penalty", plain.frequency_penalty)?,
            repetition_penalty: number("repetition_penalty", plain.repetition_penalty)?,
            temperature: number("temperature", plain.temperature)?,
            top_p: number("top_p", plain.top_p)?,
            top_k: from.integer_or("top_k", 0)?,
            min_p: number("min_p", plain.min_p)?,
            seed: from.integer("seed")?,
            stop: string_or_strings(from, "stop")?,
            stop_token_ids: integers(from, "stop_token_ids")?.unwrap_or_default(),
            ignore_eos: from.flag("ignore_eos", false)?,
            max_tokens: from.integer("max_tokens")?,
            min_tokens: from.integer_or("min_tokens", 0)?,
            logprobs: from.integer("logprobs")?,
            prompt_logprobs: from.integer("prompt_logprobs")?,
            prompt_logprob_start: from.integer("prompt_logprob_start")?,
            prompt_logprob_token_ids: rows_of_integers(from, "prompt_logprob_token_ids")?,
            logprob_token_ids: integers(from, "logprob_token_ids")?,
            detokenize: from.flag("detokenize", true)?,
            skip_special_tokens: from.flag("skip_special_tokens", true)?,
            spaces_between_special_tokens: from.flag("spaces_between_special_tokens", true)?,
            include_stop_str_in_output: from.flag("include_stop_str_in_output", false)?,
            output_kind: None,
            structured_outputs: from
                .object("structured_outputs")?
                .map(|f| StructuredOutputs::parse(&f))
                .transpose()?,
            logit_bias: logit_bias(from, "logit_bias")?,
            allowed_token_ids: integers(from, "allowed_token_ids")?,
            extra_args: raw(from, "extra_args")?,
            bad_words: from.strings("bad_words")?.unwrap_or_default(),
            thinking_token_budget: from.integer("thinking_token_budget")?,
            repetition_detection: raw(from, "repetition_detection")?,
            watermarking: from.boolean("watermarking")?,
        };
        Ok(params)
    }

    /// Refuses values out of their ranges, with vLLM's bounds.
    ///
    /// # Errors
    /// A bad-request error that names parameter, value and range.
    pub fn check(&self, limits: &Bounds) -> Result<()> {
        let general =
            |holds: bool, message: String| if holds { Ok(()) } else { Err(Error::bad_request(message)) };
        let named = |holds: bool, param: &str, message: String| {
            if holds { Ok(()) } else { Err(Error::bad_parameter(param, message)) }
        };
        general(self.n >= 1, format!("n must be at least 1, got {}", self.n))?;
        bounds::choices(self.n, limits)?;
        for (name, value) in
            [("presence_penalty", self.presence_penalty), ("frequency_penalty", self.frequency_penalty)]
        {
            general((-2.0..=2.0).contains(&value), format!("{name} must be in [-2, 2], got {value:?}"))?;
        }
        let value = self.repetition_penalty;
        general(value > 0.0, format!("repetition_penalty must be greater than zero, got {value:?}"))?;
        let value = self.temperature;
        named(
            (0.0..=2.0).contains(&value),
            "temperature",
            format!("temperature must be in [0, 2], got {value:?}"),
        )?;
        let value = self.top_p;
        named(value > 0.0 && value <= 1.0, "top_p", format!("top_p must be in (0, 1], got {value:?}"))?;
        let value = self.top_k;
        general(value >= -1, format!("top_k must be 0 or -1 (no limit), or at least 1, got {value}"))?;
        let value = self.min_p;
        general((0.0..=1.0).contains(&value), format!("min_p must be in [0, 1], got {value:?}"))?;
        if let Some(value) = self.max_tokens {
            named(value >= 1, "max_tokens", format!("max_tokens must be at least 1, got {value}"))?;
        }
        let value = self.min_tokens;
        named(value >= 0, "min_tokens", format!("min_tokens must be at least 0, got {value}"))?;
        if let Some(most) = self.max_tokens {
            named(
                value <= most,
                "min_tokens",
                format!("min_tokens must be at most max_tokens={most}, got {value}"),
            )?;
        }
        for (name, value) in [("logprobs", self.logprobs), ("prompt_logprobs", self.prompt_logprobs)] {
            let holds = value.is_none_or(|value| value >= -1);
            named(
                holds,
                name,
                format!("{name} must be at least 0, or -1 for all, got {}", value.unwrap_or_default()),
            )?;
        }
        general(!self.stop.iter().any(String::is_empty), "stop cannot contain an empty string".to_owned())?;
        let greedy = self.temperature < GREEDY_BELOW;
        general(!greedy || self.n == 1, format!("n must be 1 when sampling is greedy, got {}", self.n))?;
        Ok(())
    }
}

/// Temperatures below this are greedy, as in vLLM.
pub const GREEDY_BELOW: f64 = 1e-5;

/// One string or a list of them, as a list.
///
/// # Errors
/// A validation error for anything else.
pub fn string_or_strings(from: &Fields<'_, '_>, key: &str) -> Result<Vec<String>> {
    match from.some(key) {
        None => Ok(Vec::new()),
        Some(Json::Str(text)) => Ok(vec![text.to_string()]),
        Some(_) => Ok(from.strings(key)?.unwrap_or_default()),
    }
}

/// A list of integers, or nothing.
///
/// # Errors
/// A validation error with the index of the first item that is none.
pub fn integers(from: &Fields<'_, '_>, key: &str) -> Result<Option<Vec<i64>>> {
    let Some(items) = from.list(key)? else { return Ok(None) };
    integers_of(items, &from.path(key)).map(Some)
}

/// A list of lists of integers, or nothing.
fn rows_of_integers(from: &Fields<'_, '_>, key: &str) -> Result<Option<Vec<Vec<i64>>>> {
    let Some(rows) = from.list(key)? else { return Ok(None) };
    let path = from.path(key);
    let row = |(index, row)| {
        let path = join(&path, &usize::to_string(&index));
        integers_of(fields::list(row, &path)?, &path)
    };
    rows.iter().enumerate().map(row).collect::<Result<_>>().map(Some)
}

fn integers_of(items: &[Json<'_>], path: &str) -> Result<Vec<i64>> {
    let item = |(index, value)| fields::integer(value, &join(path, &usize::to_string(&index)));
    items.iter().enumerate().map(item).collect()
}

/// `logit_bias`: ids, written as strings, to biases.
///
/// # Errors
/// A bad-request error for keys that are no integers, a validation error for a value that is no number.
pub fn logit_bias(from: &Fields<'_, '_>, key: &str) -> Result<Option<BTreeMap<i64, f64>>> {
    let Some(Json::Object(members)) = from.object(key)?.map(|found| found.value()) else { return Ok(None) };
    let path = from.path(key);
    let mut biases = BTreeMap::new();
    for (key, bias) in members.iter() {
        let bias = fields::number(bias, &join(&path, &json::clip(key)))?;
        let Ok(id) = key.trim().parse() else {
            let message = format!("{path} has the key `{}`, which is no token id", json::clip(key));
            return Err(Error::bad_parameter(&path, message));
        };
        biases.insert(id, bias);
    }
    Ok(Some(biases))
}

/// An object as JSON text, or nothing.
///
/// # Errors
/// A validation error where the value is no object.
pub fn raw(from: &Fields<'_, '_>, key: &str) -> Result<Option<Box<RawValue>>> {
    from.object(key)?.map(|found| to_raw(found.value())).transpose()
}

/// A value as JSON text.
///
/// # Errors
/// None that a parsed value can cause.
pub fn to_raw(value: &Json<'_>) -> Result<Box<RawValue>> {
    serde_json::value::to_raw_value(&json::Serialized(value)).map_err(|error| Error::Internal {
        message: format!("a value could not be written as JSON: {error}"),
    })
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_one(value: &i64) -> bool {
    *value == 1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(value: &i64) -> bool {
    *value == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_true(value: &bool) -> bool {
    *value
}
