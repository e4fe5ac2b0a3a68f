//! The answers of `/v1/chat/completions/derender`.

use dragoman_protocol::Result;
use dragoman_protocol::derender::{DerenderRequest, refuse_empty};
use dragoman_protocol::generate_response::{GenerateChoice, GenerateResponse, TokenLogProbs};
use serde_json::{Value, json};

use crate::choice::{Choice, Pipeline, Step};
use crate::derenderer::{Derenderer, Streamed, chunk_usage, finish, now, passed, prompt, seed, stop_reason};
use crate::options::Options;
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
) -> Result<Value> {
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
        let step = pipeline.push(&mut choice, &generated.token_ids, finish(generated));
        completion_tokens += i64::try_from(generated.token_ids.len()).unwrap_or(i64::MAX);
        let logprobs = logprobs(derenderer, &mut choice, generated, &step);
        let token_ids = token_ids(options, generated, &step);
        choices.push(json!({
            "index": generated.index,
            "message": step.delta.into_message(options.is_forced()),
            "logprobs": logprobs,
            "finish_reason": step.finish_reason,
            "stop_reason": stop_reason(step.stop_reason),
            "token_ids": token_ids,
            "routed_experts": passed(generated.routed_experts),
        }));
    }
    let cached = response.usage.and_then(|usage| usage.cached_tokens);
    let prompt_ids = if options.return_token_ids && !prompt.is_empty() { json!(prompt) } else { Value::Null };
    Ok(json!({
        "id": id(response.request_id, body),
        "object": "chat.completion",
        "created": now(),
        "model": derenderer.model(request),
        "choices": choices,
        "service_tier": null,
        "system_fingerprint": null,
        "usage": usage::usage(prompt_tokens, completion_tokens, cached),
        "prompt_logprobs": passed(response.prompt_logprobs),
        "prompt_token_ids": prompt_ids,
        "prompt_text": null,
        "kv_transfer_params": passed(response.kv_transfer_params),
        "ec_transfer_params": passed(response.ec_transfer_params),
        "metrics": passed(response.metrics),
    }))
}

/// The answer to a chunk of a stream: the client's chunk, and the state for the next one.
///
/// # Errors
/// A state that has grown too long.
pub fn chunk(
    derenderer: &Derenderer,
    request: &DerenderRequest<'_, '_>,
    chunk: &GenerateResponse<'_, '_>,
    options: &Options,
    streamed: Streamed,
) -> Result<Value> {
    let mut choices = Vec::new();
    let mut prompt_ids = Value::Null;
    let state = match (streamed, chunk.choices.first()) {
        (Streamed::Passed(state), _) => state,
        (Streamed::Read(_), None) => Value::Null,
        (Streamed::Read(read), Some(generated)) => {
            let (mut choice, step) = *read;
            let role = !std::mem::replace(&mut choice.plain.role_sent, true);
            let prompt = prompt(request, chunk, 0);
            if role && options.return_token_ids && !prompt.is_empty() {
                prompt_ids = json!(prompt);
            }
            let logprobs = logprobs(derenderer, &mut choice, generated, &step);
            let token_ids = token_ids(options, generated, &step);
            choices.push(json!({
                "index": generated.index,
                "delta": step.delta.into_delta(role),
                "logprobs": logprobs,
                "finish_reason": step.finish_reason,
                "stop_reason": stop_reason(step.stop_reason),
                "token_ids": token_ids,
            }));
            derenderer.write_state(&choice, chunk, options, "chat")?
        }
    };
    let mut answer = json!({
        "id": id(chunk.request_id, b"chunk"),
        "object": "chat.completion.chunk",
        "created": now(),
        "model": derenderer.model(request),
        "choices": choices,
        "system_fingerprint": null,
        "usage": chunk_usage(request, chunk),
        "prompt_token_ids": prompt_ids,
        "metrics": passed(chunk.metrics),
    });
    drop_nulls(&mut answer);
    Ok(json!({"chunk": answer, "stream_state": state}))
}

/// Streams leave out what is null, but for a choice's finish reason and the like, which clients look for.
fn drop_nulls(answer: &mut Value) {
    if let Value::Object(members) = answer {
        members.retain(|_, value| !value.is_null());
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
pub(crate) fn token_ids(options: &Options, generated: &GenerateChoice<'_, '_>, step: &Step) -> Value {
    if !options.return_token_ids || (!options.include_reasoning && options.reasoning.is_some()) {
        return Value::Null;
    }
    let shown = generated.token_ids.iter().zip(&step.shown).filter(|&(_, &shown)| shown).map(|(&id, _)| id);
    json!(shown.collect::<Vec<u32>>())
}

fn logprobs(
    derenderer: &Derenderer,
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
        Some(Some(entries)) => logprobs::chat(&derenderer.detokenizer, context, &shown(entries, step)),
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
