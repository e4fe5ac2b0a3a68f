//! What chat and completions requests have in common: sampling, truncation, bookkeeping.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::generate::cache_salt;
use crate::sampling::{GREEDY_BELOW, OutputKind, integers, logit_bias, raw, string_or_strings};
use crate::{
    Bounds, Error, Fields, Json, Result, SamplingParams, ServingConfig, StreamOptions, StructuredOutputs,
    bounds, fields,
};

/// Which end of a prompt is cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TruncationSide {
    /// The first tokens go.
    Left,
    /// The last tokens go.
    Right,
}

/// The fields of a request that do not depend on what the prompt is made of.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "the wire has these flags")]
pub struct Generation {
    pub model: Option<String>,
    pub request_id: Option<String>,
    pub n: i64,
    pub frequency_penalty: f64,
    pub presence_penalty: f64,
    pub repetition_penalty: Option<f64>,
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
    pub top_k: Option<i64>,
    pub min_p: Option<f64>,
    pub seed: Option<i64>,
    pub stop: Vec<String>,
    pub stop_token_ids: Vec<i64>,
    pub max_tokens: Option<i64>,
    pub min_tokens: i64,
    pub ignore_eos: bool,
    pub include_stop_str_in_output: bool,
    pub skip_special_tokens: bool,
    pub spaces_between_special_tokens: bool,
    pub logit_bias: Option<BTreeMap<i64, f64>>,
    pub logprob_token_ids: Option<Vec<i64>>,
    pub allowed_token_ids: Option<Vec<i64>>,
    pub bad_words: Vec<String>,
    pub prompt_logprobs: Option<i64>,
    pub structured_outputs: Option<StructuredOutputs>,
    pub thinking_token_budget: Option<i64>,
    pub repetition_detection: Option<Box<RawValue>>,
    /// `vllm_xargs`, as members of `extra_args`.
    pub extra_args: Vec<(String, Box<RawValue>)>,
    pub kv_transfer_params: Option<Box<RawValue>>,
    pub ec_transfer_params: Option<Box<RawValue>>,
    pub truncate_prompt_tokens: Option<i64>,
    pub truncation_side: TruncationSide,
    pub add_special_tokens: bool,
    pub stream: bool,
    pub stream_options: Option<StreamOptions>,
    pub return_token_ids: Option<bool>,
    pub return_tokens_as_token_ids: Option<bool>,
    pub return_weight_versions: bool,
    pub return_token_offsets: bool,
    pub cache_salt: Option<String>,
    pub priority: i64,
    pub use_beam_search: bool,
}

impl Generation {
    /// Reads the common fields; `add_special_tokens` is the endpoint's default.
    ///
    /// # Errors
    /// A validation error on the first field at fault; a bad-request error where fields contradict each other.
    pub fn parse(from: &Fields<'_, '_>, add_special_tokens: bool, limits: &Bounds) -> Result<Self> {
        let generation = Self {
            model: from.string("model")?.map(str::to_owned),
            request_id: from
                .raw("request_id")
                .map(|v| fields::string(v, &from.path("request_id")))
                .transpose()?
                .map(str::to_owned),
            frequency_penalty: from.number("frequency_penalty")?.unwrap_or(0.0),
            logit_bias: logit_bias(from, "logit_bias")?,
            max_tokens: from.integer("max_tokens")?,
            n: from.integer("n")?.unwrap_or(1),
            presence_penalty: from.number("presence_penalty")?.unwrap_or(0.0),
            seed: from.integer("seed")?,
            stop: stop(from)?,
            stream: from.boolean("stream")?.unwrap_or(false),
            stream_options: StreamOptions::parse(from)?,
            temperature: from.number("temperature")?,
            top_p: from.number("top_p")?,
            thinking_token_budget: from.integer("thinking_token_budget")?,
            use_beam_search: from.flag("use_beam_search", false)?,
            top_k: from.integer("top_k")?,
            min_p: from.number("min_p")?,
            repetition_penalty: from.number("repetition_penalty")?,
            stop_token_ids: integers(from, "stop_token_ids")?.unwrap_or_default(),
            include_stop_str_in_output: from.flag("include_stop_str_in_output", false)?,
            ignore_eos: from.flag("ignore_eos", false)?,
            min_tokens: from.integer_or("min_tokens", 0)?,
            skip_special_tokens: from.boolean("skip_special_tokens")?.unwrap_or(true),
            spaces_between_special_tokens: from.flag("spaces_between_special_tokens", true)?,
            truncate_prompt_tokens: truncation(from)?,
            truncation_side: truncation_side(from)?,
            prompt_logprobs: from.integer("prompt_logprobs")?,
            logprob_token_ids: integers(from, "logprob_token_ids")?,
            allowed_token_ids: integers(from, "allowed_token_ids")?,
            bad_words: from.strings("bad_words")?.unwrap_or_default(),
            add_special_tokens: from.flag("add_special_tokens", add_special_tokens)?,
            structured_outputs: structured_outputs(from)?,
            priority: from.integer_or("priority", 0)?,
            return_token_ids: from.boolean("return_token_ids")?,
            return_tokens_as_token_ids: from.boolean("return_tokens_as_token_ids")?,
            return_weight_versions: from.flag("return_weight_versions", false)?,
            return_token_offsets: from.boolean("return_token_offsets")?.unwrap_or(false),
            cache_salt: cache_salt(from)?,
            kv_transfer_params: raw(from, "kv_transfer_params")?,
            ec_transfer_params: raw(from, "ec_transfer_params")?,
            extra_args: extra_args(from)?,
            repetition_detection: raw(from, "repetition_detection")?,
        };
        generation.check(from)?;
        // There is no media yet: what a renderer would do with its tensors is read and means nothing.
        from.boolean("return_mm_kwargs")?;
        if let Some(payload) = from.string("mm_payload")?
            && !["tensors", "none"].contains(&payload)
        {
            let path = from.path("mm_payload");
            return Err(Error::validation(&path, format!("{path} must be \"tensors\" or \"none\"")));
        }
        if let Some(id) = &generation.request_id {
            bounds::string_bytes(&from.path("request_id"), id, limits)?;
        }
        bounds::strings_bytes(&from.path("stop"), &generation.stop, limits)?;
        bounds::strings_bytes(&from.path("bad_words"), &generation.bad_words, limits)?;
        bounds::choices(generation.n, limits)?;
        Ok(generation)
    }

    fn check(&self, from: &Fields<'_, '_>) -> Result<()> {
        if self.stream_options.is_some() && !self.stream {
            return Err(Error::bad_parameter("stream_options", "stream_options need stream to be true"));
        }
        let Some(count) = self.prompt_logprobs else { return Ok(()) };
        if self.stream && (count > 0 || count == -1) {
            let message = "prompt_logprobs are not given when stream is true";
            return Err(Error::bad_parameter("prompt_logprobs", message));
        }
        if count < -1 {
            let message =
                format!("{} must be at least 0, or -1 for all, got {count}", from.path("prompt_logprobs"));
            return Err(Error::bad_parameter("prompt_logprobs", message));
        }
        Ok(())
    }

    /// The sampling parameters of the generate request, with the model's defaults for what the request left open.
    ///
    /// # Errors
    /// A bad-request error for a value out of its range.
    pub fn sampling(&self, config: &ServingConfig, max_tokens: Option<i64>) -> Result<SamplingParams> {
        let defaults = &config.default_sampling;
        let plain = SamplingParams::default();
        let mut params = SamplingParams {
            n: self.n,
            presence_penalty: self.presence_penalty,
            frequency_penalty: self.frequency_penalty,
            repetition_penalty: self
                .repetition_penalty
                .or(defaults.repetition_penalty)
                .unwrap_or(plain.repetition_penalty),
            temperature: self.temperature.or(defaults.temperature).unwrap_or(plain.temperature),
            top_p: self.top_p.or(defaults.top_p).unwrap_or(plain.top_p),
            top_k: self.top_k.or(defaults.top_k).unwrap_or(plain.top_k),
            min_p: self.min_p.or(defaults.min_p).unwrap_or(plain.min_p),
            seed: self.seed,
            stop: self.stop.clone(),
            stop_token_ids: self.stop_token_ids.clone(),
            ignore_eos: self.ignore_eos,
            max_tokens,
            min_tokens: self.min_tokens,
            prompt_logprobs: self.prompt_logprobs,
            logprob_token_ids: self.logprob_token_ids.clone(),
            skip_special_tokens: self.skip_special_tokens,
            spaces_between_special_tokens: self.spaces_between_special_tokens,
            include_stop_str_in_output: self.include_stop_str_in_output,
            output_kind: Some(if self.stream { OutputKind::Delta } else { OutputKind::FinalOnly }),
            structured_outputs: self.structured_outputs.clone(),
            logit_bias: self.logit_bias.clone(),
            allowed_token_ids: self.allowed_token_ids.clone(),
            extra_args: self.extra_args()?,
            bad_words: self.bad_words.clone(),
            thinking_token_budget: self.thinking_token_budget,
            repetition_detection: self.repetition_detection.clone(),
            ..plain
        };
        params.check(&config.bounds)?;
        if params.temperature < GREEDY_BELOW {
            // Greedy: nothing else has a say.
            (params.top_p, params.top_k, params.min_p) = (plain.top_p, plain.top_k, plain.min_p);
        }
        Ok(params)
    }

    fn extra_args(&self) -> Result<Option<Box<RawValue>>> {
        let transfers = [
            ("kv_transfer_params", &self.kv_transfer_params),
            ("ec_transfer_params", &self.ec_transfer_params),
        ];
        let mut members: Vec<(&str, &RawValue)> =
            self.extra_args.iter().map(|(name, value)| (name.as_str(), value.as_ref())).collect();
        members.extend(transfers.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?))));
        if members.is_empty() {
            return Ok(None);
        }
        let parts: Vec<String> = members
            .into_iter()
            .map(|(name, value)| format!("{}:{}", serde_json::Value::from(name), value.get()))
            .collect();
        RawValue::from_string(format!("{{{}}}", parts.join(",")))
            .map(Some)
            .map_err(|error| Error::Internal { message: format!("extra_args: {error}") })
    }
}

fn stop(from: &Fields<'_, '_>) -> Result<Vec<String>> {
    let stop = string_or_strings(from, "stop")?;
    if stop.len() > 4 && from.list("stop").is_ok() {
        let message = format!("stop has {} strings; at most 4 are accepted", stop.len());
        return Err(Error::validation(&from.path("stop"), message));
    }
    Ok(stop)
}

fn truncation(from: &Fields<'_, '_>) -> Result<Option<i64>> {
    let tokens = from.integer("truncate_prompt_tokens")?;
    if let Some(value) = tokens.filter(|value| *value < -1) {
        let message = format!("truncate_prompt_tokens must be at least -1 (the context length), got {value}");
        return Err(Error::validation(&from.path("truncate_prompt_tokens"), message));
    }
    Ok(tokens)
}

fn truncation_side(from: &Fields<'_, '_>) -> Result<TruncationSide> {
    match from.some("truncation_side") {
        None => Ok(TruncationSide::Left),
        Some(Json::Str(side)) if side == "left" => Ok(TruncationSide::Left),
        Some(Json::Str(side)) if side == "right" => Ok(TruncationSide::Right),
        Some(other) => Err(fields::wrong(&from.path("truncation_side"), "\"left\" or \"right\"", other)),
    }
}

/// `vllm_xargs`: strings, numbers, and lists of them.
fn extra_args(from: &Fields<'_, '_>) -> Result<Vec<(String, Box<RawValue>)>> {
    let Some(found) = from.object("vllm_xargs")? else { return Ok(Vec::new()) };
    let Json::Object(members) = found.value() else { return Ok(Vec::new()) };
    let scalar = |value: &Json<'_>| !matches!(value, Json::Null | Json::Array(_) | Json::Object(_));
    crate::json::unique_members(members)
        .into_iter()
        .map(|(name, value)| {
            let holds = match value {
                Json::Array(items) => items.iter().all(scalar),
                other => scalar(other),
            };
            if !holds {
                return Err(fields::wrong(&found.path(name), "a string, a number or a list of them", value));
            }
            Ok((name.to_owned(), crate::sampling::to_raw(value)?))
        })
        .collect()
}

/// `structured_outputs`, or what `response_format` asks for.
fn structured_outputs(from: &Fields<'_, '_>) -> Result<Option<StructuredOutputs>> {
    let given = from.object("structured_outputs")?;
    let Some(format) = from.object("response_format")? else {
        return given.map(|found| StructuredOutputs::parse(&found)).transpose();
    };
    let kind = fields::string(format.required("type")?, &format.path("type"))?;
    let outputs = match kind {
        "text" => return given.map(|found| StructuredOutputs::parse(&found)).transpose(),
        "json_object" => StructuredOutputs { json_object: Some(true), ..StructuredOutputs::default() },
        "json_schema" => {
            let Some(wrapper) = format.object("json_schema")? else {
                let message = "response_format of type json_schema needs the field json_schema";
                return Err(Error::bad_parameter("response_format", message));
            };
            fields::string(wrapper.required("name")?, &wrapper.path("name"))?;
            wrapper.string("description")?;
            wrapper.boolean("strict")?;
            StructuredOutputs { json: raw(&wrapper, "schema")?, ..StructuredOutputs::default() }
        }
        "structural_tag" => structural_tag(&format)?,
        other => {
            let message = format!(
                "{} must be \"text\", \"json_object\", \"json_schema\" or \"structural_tag\", not \"{}\"",
                format.path("type"),
                crate::json::clip(other)
            );
            return Err(Error::validation(&format.path("type"), message));
        }
    };
    if given.is_some() {
        let message = "structured_outputs and response_format cannot both ask for a grammar";
        return Err(Error::bad_parameter("structured_outputs", message));
    }
    Ok(Some(outputs))
}

fn structural_tag(format: &Fields<'_, '_>) -> Result<StructuredOutputs> {
    if format.raw("format").is_none() {
        for key in ["structures", "triggers"] {
            fields::list(format.required(key)?, &format.path(key))?;
        }
    }
    let text = crate::sampling::to_raw(format.value())?.get().to_owned();
    Ok(StructuredOutputs { structural_tag: Some(text), ..StructuredOutputs::default() })
}
