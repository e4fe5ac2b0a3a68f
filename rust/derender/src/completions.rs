//! The answers of `/v1/completions/derender`.

use dragoman_protocol::derender::DerenderRequest;
use dragoman_protocol::generate_response::{GenerateChoice, GenerateResponse};
use dragoman_protocol::{Error, Result};
use serde_json::{Value, json};

use crate::chat::{id, shown, token_ids};
use crate::choice::{Choice, Pipeline, Step};
use crate::derenderer::{Derenderer, Streamed, chunk_usage, finish, now, passed, prompt, seed, stop_reason};
use crate::options::Options;
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
) -> Result<Value> {
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
        for (number, generated) in generated.into_iter().enumerate() {
            let key = response.request_id.map_or(body, str::as_bytes);
            let seed = seed(&[key, &generated.index.to_le_bytes()]);
            let mut choice = derenderer.fresh(options, prompt, seed);
            let pipeline = Pipeline { detokenizer: &derenderer.detokenizer, options, seed };
            let step = pipeline.push(&mut choice, &generated.token_ids, finish(generated));
            completion_tokens += i64::try_from(generated.token_ids.len()).unwrap_or(i64::MAX);
            let echoed = echo::text(derenderer, options, prompt);
            choice.plain.characters = u32::try_from(echoed.chars().count()).unwrap_or(u32::MAX);
            let logprobs = logprobs(derenderer, &mut choice, generated, &step);
            let logprobs = echo::prepend(derenderer, options, prompt, response, logprobs);
            let prompt_ids =
                if options.return_token_ids && !prompt.is_empty() { json!(prompt) } else { Value::Null };
            choices.push(json!({
                "index": first_index + number,
                "text": echoed + &step.delta.content,
                "logprobs": logprobs,
                "finish_reason": step.finish_reason,
                "stop_reason": stop_reason(step.stop_reason.clone()),
                "token_ids": token_ids(options, generated, &step),
                "prompt_logprobs": passed(response.prompt_logprobs),
                "prompt_token_ids": prompt_ids,
                "routed_experts": passed(generated.routed_experts),
            }));
        }
        first_index += response.choices.len();
    }
    let first = responses.first();
    Ok(json!({
        "id": id(first.and_then(|response| response.request_id), body),
        "object": "text_completion",
        "created": now(),
        "model": derenderer.model(request),
        "choices": choices,
        "service_tier": null,
        "system_fingerprint": null,
        "usage": usage::usage(prompt_tokens, completion_tokens, cached),
        "kv_transfer_params": transfer(responses, |response| passed(response.kv_transfer_params)),
        "ec_transfer_params": transfer(responses, |response| passed(response.ec_transfer_params)),
        "metrics": if responses.len() == 1 { passed(first.and_then(|response| response.metrics)) } else { Value::Null },
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
    let state = match (streamed, chunk.choices.first()) {
        (Streamed::Passed(state), _) => state,
        (Streamed::Read(_), None) => Value::Null,
        (Streamed::Read(read), Some(generated)) => {
            let (mut choice, step) = *read;
            let first = !std::mem::replace(&mut choice.plain.role_sent, true);
            let prompt = prompt(request, chunk, 0);
            let echoed = if first { echo::text(derenderer, options, prompt) } else { String::new() };
            let length = u32::try_from(echoed.chars().count()).unwrap_or(u32::MAX);
            choice.plain.characters = choice.plain.characters.saturating_add(length);
            let logprobs = logprobs(derenderer, &mut choice, generated, &step);
            let prompt_ids = first && options.return_token_ids && !prompt.is_empty();
            choices.push(json!({
                "index": generated.index,
                "text": echoed + &step.delta.content,
                "logprobs": logprobs,
                "finish_reason": step.finish_reason,
                "stop_reason": stop_reason(step.stop_reason.clone()),
                "token_ids": token_ids(options, generated, &step),
                "prompt_token_ids": if prompt_ids { json!(prompt) } else { Value::Null },
            }));
            derenderer.write_state(&choice, chunk, options, "completions")?
        }
    };
    let mut answer = json!({
        "id": id(chunk.request_id, b"chunk"),
        "object": "text_completion",
        "created": now(),
        "model": derenderer.model(request),
        "choices": choices,
    });
    if let (Some(usage), Value::Object(members)) = (chunk_usage(request, chunk), &mut answer) {
        members.insert("usage".to_owned(), usage);
    }
    Ok(json!({"chunk": answer, "stream_state": state}))
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
fn transfer(
    responses: &[GenerateResponse<'_, '_>],
    of: impl Fn(&GenerateResponse<'_, '_>) -> Value,
) -> Value {
    let mut values = responses.iter().map(of);
    let Some(first) = values.next() else { return Value::Null };
    if values.all(|value| value == first) { first } else { Value::Null }
}

fn logprobs(
    derenderer: &Derenderer,
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
            logprobs::completions(&derenderer.detokenizer, context, offset, &shown(entries, step))
        }
    }
}
