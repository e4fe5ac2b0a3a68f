//! The answers of `/v1/completions/derender`.

use dragoman_protocol::derender::DerenderRequest;
use dragoman_protocol::generate_response::{GenerateChoice, GenerateResponse, StopReason};
use dragoman_protocol::json::{self, Serialized};
use dragoman_protocol::text::Text;
use dragoman_protocol::{Error, Json, Result};
use serde::Serialize;
use serde_json::Value;

use crate::chat::{id, prompt_logprobs, shown, token_ids, tokens, weight_versions};
use crate::choice::{Choice, Pipeline, Step};
use crate::derenderer::{Derenderer, finish, now, passed, prompt, seed};
use crate::options::Options;
use crate::stream::{Endpoint, New};
use crate::{echo, logprobs, usage};

/// The answer to whole responses, one for each prompt; their choices are numbered through.
///
/// # Errors
/// No responses, lists of prompts of another length, and responses that have no ids at all.
pub fn whole(
    derenderer: &Derenderer,
    request: &DerenderRequest<'_, '_>,
    responses: &[GenerateResponse<'_, '_>],
    options: &Options,
    body: &[u8],
) -> Result<Vec<u8>> {
    check_lengths(request, responses)?;
    let (mut choices, mut prompt_tokens, mut completion_tokens, mut cached) = (Vec::new(), 0i64, 0i64, None);
    let mut first_index = 0;
    for (place, response) in responses.iter().enumerate() {
        let prompt = prompt(request, response, place);
        prompt_tokens = prompt_tokens.saturating_add(match &request.prompt_tokens {
            Some(counts) => counts.get(place).copied().unwrap_or(0),
            None if !prompt.is_empty() => i64::try_from(prompt.len()).unwrap_or(i64::MAX),
            None => response.usage.map_or(0, |usage| usage.prompt_tokens),
        });
        if let Some(tokens) = response.usage.and_then(|usage| usage.cached_tokens) {
            cached = Some(cached.unwrap_or(0i64).saturating_add(tokens));
        }
        let mut generated: Vec<&GenerateChoice<'_, '_>> = response.choices.iter().collect();
        generated.sort_by_key(|choice| choice.index);
        for (number, source) in generated.into_iter().enumerate() {
            let generated = source;
            let emptied = options.prompt_only.then(|| generated.without_output());
            let generated = emptied.as_ref().unwrap_or(generated);
            let key = response.request_id.map_or(body, str::as_bytes);
            let seed = seed(&[key, &generated.index.to_le_bytes()]);
            let mut choice = derenderer.fresh(options, prompt, seed);
            let pipeline = Pipeline { detokenizer: &derenderer.detokenizer, options, seed };
            let step = pipeline.push(&mut choice, &generated.token_ids, finish(generated));
            completion_tokens += i64::try_from(generated.token_ids.len()).unwrap_or(i64::MAX);
            let echoed = echo::text(derenderer, options, prompt);
            choice.plain.characters = u32::try_from(echoed.chars().count()).unwrap_or(u32::MAX);
            let logprobs = logprobs(derenderer, options, &mut choice, generated, &step);
            let logprobs = echo::prepend(derenderer, options, prompt, response, logprobs);
            choices.push(CompletionChoice {
                index: first_index + number,
                text: Text(echoed + &step.delta.content),
                logprobs,
                token_ids: token_ids(options, generated, &step),
                finish_reason: step.finish_reason,
                stop_reason: step.stop_reason,
                prompt_logprobs: prompt_logprobs(derenderer, response),
                prompt_token_ids: Some(prompt).filter(|ids| options.return_token_ids && !ids.is_empty()),
                routed_experts: passed(source.routed_experts),
                weight_versions: weight_versions(options, source),
            });
        }
        first_index += response.choices.len();
    }
    let first = responses.first();
    json::to_bytes(&Completion {
        id: id(first.and_then(|response| response.request_id), body),
        object: "text_completion",
        created: now(),
        model: derenderer.model(request),
        choices,
        service_tier: (),
        system_fingerprint: (),
        usage: usage::usage(prompt_tokens, completion_tokens, cached),
        kv_transfer_params: transfer(responses, |response| response.kv_transfer_params),
        ec_transfer_params: transfer(responses, |response| response.ec_transfer_params),
        metrics: first.filter(|_| responses.len() == 1).and_then(|response| passed(response.metrics)),
    })
}

/// The answer to whole responses, as it is written.
#[derive(Serialize)]
struct Completion<'a> {
    id: String,
    object: &'static str,
    created: u64,
    model: &'a str,
    choices: Vec<CompletionChoice<'a>>,
    service_tier: (),
    system_fingerprint: (),
    usage: usage::Counts,
    kv_transfer_params: Option<Serialized<'a, 'a>>,
    ec_transfer_params: Option<Serialized<'a, 'a>>,
    metrics: Option<Serialized<'a, 'a>>,
}

#[derive(Serialize)]
struct CompletionChoice<'a> {
    index: usize,
    text: Text,
    logprobs: Value,
    finish_reason: Option<String>,
    stop_reason: Option<StopReason>,
    token_ids: Option<Vec<u32>>,
    prompt_logprobs: Option<Value>,
    prompt_token_ids: Option<&'a [u32]>,
    routed_experts: Option<Serialized<'a, 'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    weight_versions: Option<Serialized<'a, 'a>>,
}

/// Chunks of `text_completion`.
pub(crate) struct Completions;

/// A choice of a chunk, as it is written.
#[derive(Serialize)]
pub(crate) struct ChunkChoice<'a> {
    index: i64,
    text: Text,
    logprobs: Value,
    finish_reason: Option<String>,
    stop_reason: Option<StopReason>,
    token_ids: Option<Vec<u32>>,
    prompt_token_ids: Option<&'a [u32]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    weight_versions: Option<Serialized<'a, 'a>>,
}

impl Endpoint for Completions {
    const NAME: &'static str = "completions";
    const OBJECT: &'static str = "text_completion";
    const BESIDE: bool = false;
    type Choice<'a> = ChunkChoice<'a>;

    fn choice<'a>(new: New<'a>, choice: &mut Choice) -> ChunkChoice<'a> {
        let New { derenderer, options, generated, step, first, prompt, prompt_ids } = new;
        let echoed = if first { echo::text(derenderer, options, prompt) } else { String::new() };
        let length = u32::try_from(echoed.chars().count()).unwrap_or(u32::MAX);
        choice.plain.characters = choice.plain.characters.saturating_add(length);
        ChunkChoice {
            index: generated.index,
            logprobs: logprobs(derenderer, options, choice, generated, &step),
            token_ids: token_ids(options, generated, &step),
            text: Text(echoed + &step.delta.content),
            finish_reason: step.finish_reason,
            stop_reason: step.stop_reason,
            prompt_token_ids: prompt_ids,
            weight_versions: weight_versions(options, generated),
        }
    }
}

fn check_lengths(request: &DerenderRequest<'_, '_>, responses: &[GenerateResponse<'_, '_>]) -> Result<()> {
    if responses.is_empty() {
        return Err(Error::bad_request("generate_responses must not be empty"));
    }
    let lengths = [
        ("prompt_tokens", request.prompt_tokens.as_ref().map(Vec::len)),
        ("prompt_token_ids", request.prompts_given.then_some(request.prompt_token_ids.len())),
    ];
    for (name, length) in lengths {
        if let Some(length) = length.filter(|&length| length != responses.len()) {
            let count = responses.len();
            let message = format!("{name} has {length} items; generate_responses has {count}");
            return Err(Error::validation("", message));
        }
    }
    if responses.iter().flat_map(|response| &response.choices).any(|choice| !choice.token_ids.is_empty()) {
        return Ok(());
    }
    responses.iter().try_for_each(dragoman_protocol::derender::refuse_empty)
}

/// Transfer parameters: those of all responses, where they agree.
fn transfer<'r>(
    responses: &'r [GenerateResponse<'r, 'r>],
    of: impl Fn(&'r GenerateResponse<'r, 'r>) -> Option<&'r Json<'r>>,
) -> Option<Serialized<'r, 'r>> {
    let mut values = responses.iter().map(of);
    let first = values.next()?;
    values.all(|value| value == first).then_some(first).flatten().map(Serialized)
}

fn logprobs(
    derenderer: &Derenderer,
    options: &Options,
    choice: &mut Choice,
    generated: &GenerateChoice<'_, '_>,
    step: &Step,
) -> Value {
    let (context, offset) = (&mut choice.plain.context, &mut choice.plain.characters);
    match &generated.logprobs {
        None => {
            logprobs::remember(context, &generated.token_ids);
            let length = step.delta.content.chars().count();
            *offset = offset.saturating_add(u32::try_from(length).unwrap_or(u32::MAX));
            Value::Null
        }
        Some(None) => Value::Null,
        Some(Some(entries)) => {
            logprobs::completions(tokens(derenderer, options), context, offset, &shown(entries, step))
        }
    }
}
