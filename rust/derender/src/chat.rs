//! The answers of `/v1/chat/completions/derender`.

use dragoman_protocol::Result;
use dragoman_protocol::derender::{DerenderRequest, refuse_empty};
use dragoman_protocol::generate_response::{GenerateChoice, GenerateResponse, StopReason, TokenLogProbs};
use dragoman_protocol::json::{self, Serialized};
use serde::Serialize;
use serde_json::{Value, json};

use crate::choice::{Choice, Pipeline, Step};
use crate::derenderer::{Derenderer, finish, now, passed, prompt, seed};
use crate::logprobs::Tokens;
use crate::message::{Message, StreamDelta};
use crate::options::{Options, to_value};
use crate::stream::{Endpoint, New};
use crate::{logprobs, usage};

/// The answer to a whole response.
///
/// # Errors
/// A response without any ids.
pub fn whole(
    derenderer: &Derenderer,
    request: &DerenderRequest<'_, '_>,
    response: &GenerateResponse<'_, '_>,
    options: &Options,
    body: &[u8],
) -> Result<Vec<u8>> {
    refuse_empty(response)?;
    let prompt = prompt(request, response, 0);
    let prompt_tokens = prompt_tokens(request, response, prompt);
    let mut choices = Vec::with_capacity(response.choices.len());
    let mut completion_tokens = 0;
    for generated in &response.choices {
        let key = response.request_id.map_or(body, str::as_bytes);
        let seed = seed(&[key, &generated.index.to_le_bytes()]);
        let mut choice = derenderer.fresh(options, prompt, seed);
        let pipeline = Pipeline { detokenizer: &derenderer.detokenizer, options, seed };
        let mut step = pipeline.push(&mut choice, &generated.token_ids, finish(generated));
        step.delta.content.insert_str(0, &options.echoed);
        completion_tokens += i64::try_from(generated.token_ids.len()).unwrap_or(i64::MAX);
        let logprobs = logprobs(derenderer, options, &mut choice, generated, &step);
        let token_ids = token_ids(options, generated, &step);
        choices.push(ChatChoice {
            index: generated.index,
            message: step.delta.into_message(options.is_forced()),
            logprobs,
            finish_reason: step.finish_reason,
            stop_reason: step.stop_reason,
            token_ids,
            routed_experts: passed(generated.routed_experts),
            weight_versions: weight_versions(options, generated),
        });
    }
    let cached = response.usage.and_then(|usage| usage.cached_tokens);
    json::to_bytes(&ChatCompletion {
        id: id(response.request_id, body),
        object: "chat.completion",
        created: now(),
        model: derenderer.model(request),
        choices,
        service_tier: (),
        system_fingerprint: (),
        usage: usage::usage(prompt_tokens, completion_tokens, cached),
        prompt_logprobs: prompt_logprobs(derenderer, response),
        prompt_token_ids: Some(prompt).filter(|ids| options.return_token_ids && !ids.is_empty()),
        prompt_text: (),
        kv_transfer_params: passed(response.kv_transfer_params),
        ec_transfer_params: passed(response.ec_transfer_params),
        metrics: passed(response.metrics),
    })
}

/// The answer to a whole response, as it is written.
#[derive(Serialize)]
struct ChatCompletion<'a> {
    id: String,
    object: &'static str,
    created: u64,
    model: &'a str,
    choices: Vec<ChatChoice<'a>>,
    service_tier: (),
    system_fingerprint: (),
    usage: usage::Counts,
    prompt_logprobs: Option<Value>,
    prompt_token_ids: Option<&'a [u32]>,
    prompt_text: (),
    kv_transfer_params: Option<Serialized<'a, 'a>>,
    ec_transfer_params: Option<Serialized<'a, 'a>>,
    metrics: Option<Serialized<'a, 'a>>,
}

#[derive(Serialize)]
struct ChatChoice<'a> {
    index: i64,
    message: Message,
    logprobs: Value,
    finish_reason: Option<String>,
    stop_reason: Option<StopReason>,
    token_ids: Option<Vec<u32>>,
    routed_experts: Option<Serialized<'a, 'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    weight_versions: Option<Serialized<'a, 'a>>,
}

/// Which version of the weights sampled which tokens, where the request asks for it.
pub(crate) fn weight_versions<'g>(
    options: &Options,
    generated: &'g GenerateChoice<'_, '_>,
) -> Option<Serialized<'g, 'g>> {
    passed(generated.weight_versions).filter(|_| options.return_weight_versions)
}

/// Chunks of `chat.completion.chunk`.
pub(crate) struct Chat;

/// A choice of a chunk, as it is written.
#[derive(Serialize)]
pub(crate) struct ChunkChoice<'a> {
    index: i64,
    delta: StreamDelta,
    logprobs: Value,
    finish_reason: Option<String>,
    stop_reason: Option<StopReason>,
    token_ids: Option<Vec<u32>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    weight_versions: Option<Serialized<'a, 'a>>,
}

impl Endpoint for Chat {
    const NAME: &'static str = "chat";
    const OBJECT: &'static str = "chat.completion.chunk";
    const BESIDE: bool = true;
    type Choice<'a> = ChunkChoice<'a>;

    fn choice<'a>(new: New<'a>, choice: &mut Choice) -> ChunkChoice<'a> {
        let New { derenderer, options, generated, mut step, first, .. } = new;
        if first {
            step.delta.content.insert_str(0, &options.echoed);
        }
        ChunkChoice {
            index: generated.index,
            logprobs: logprobs(derenderer, options, choice, generated, &step),
            token_ids: token_ids(options, generated, &step),
            delta: step.delta.into_delta(first),
            finish_reason: step.finish_reason,
            stop_reason: step.stop_reason,
            weight_versions: weight_versions(options, generated),
        }
    }
}

/// The prompt's length: as the caller counts it, as its ids count it, or as the engine counted it.
fn prompt_tokens(
    request: &DerenderRequest<'_, '_>,
    response: &GenerateResponse<'_, '_>,
    prompt: &[u32],
) -> i64 {
    if let Some(&count) = request.prompt_tokens.as_ref().and_then(|counts| counts.first()) {
        return count;
    }
    if !prompt.is_empty() {
        return i64::try_from(prompt.len()).unwrap_or(i64::MAX);
    }
    response.usage.map_or(0, |usage| usage.prompt_tokens)
}

/// The ids of a choice that the client may see, where it asked for ids. Hidden reasoning hides its ids too.
pub(crate) fn token_ids(
    options: &Options,
    generated: &GenerateChoice<'_, '_>,
    step: &Step,
) -> Option<Vec<u32>> {
    if !options.return_token_ids || (!options.include_reasoning && options.reasoning.is_some()) {
        return None;
    }
    let shown = generated.token_ids.iter().zip(&step.shown).filter(|&(_, &shown)| shown).map(|(&id, _)| id);
    Some(shown.collect())
}

/// How the request wants tokens written.
pub(crate) fn tokens<'d>(derenderer: &'d Derenderer, options: &Options) -> Tokens<'d> {
    Tokens { detokenizer: &derenderer.detokenizer, as_ids: options.tokens_as_ids, top: options.top_logprobs }
}

/// Log-probabilities of the prompt, with the text of each token.
pub(crate) fn prompt_logprobs(derenderer: &Derenderer, response: &GenerateResponse<'_, '_>) -> Option<Value> {
    response.prompt_logprobs.map(|given| logprobs::prompt(&derenderer.detokenizer, to_value(given)))
}

fn logprobs(
    derenderer: &Derenderer,
    options: &Options,
    choice: &mut Choice,
    generated: &GenerateChoice<'_, '_>,
    step: &Step,
) -> Value {
    let context = &mut choice.plain.context;
    match &generated.logprobs {
        None => {
            logprobs::remember(context, &generated.token_ids);
            Value::Null
        }
        Some(None) => json!({"content": null}),
        Some(Some(entries)) => logprobs::chat(tokens(derenderer, options), context, &shown(entries, step)),
    }
}

/// Entries, each with whether the client may see it. Entries beyond the ids are the engine's own affair, and shown.
pub(crate) fn shown<'e>(entries: &'e [TokenLogProbs], step: &Step) -> Vec<(&'e TokenLogProbs, bool)> {
    let shown = |index: usize| step.shown.get(index).copied().unwrap_or(true);
    entries.iter().enumerate().map(|(index, entry)| (entry, shown(index))).collect()
}

/// The request's id, or one that the body decides.
pub(crate) fn id(request_id: Option<&str>, body: &[u8]) -> String {
    request_id.map_or_else(|| format!("{:016x}", seed(&[b"id", body])), str::to_owned)
}
