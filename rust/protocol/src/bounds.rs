//! Every limit on a request, one function each, checked before the work that the limit guards:
//!
//! 1. the bytes of the body, before it is read to its end (the server) and before it is parsed ([`body_bytes`]);
//! 2. the nesting of its JSON, before the parser recurses ([`json_depth`]);
//! 3. the items of each list, before the first of them is looked at ([`count`], [`id_count`], [`chunk_choices`]);
//! 4. the bytes of names and strings, before they are compared or kept ([`string_bytes`], [`strings_bytes`]);
//! 5. the number of choices, before anything is rendered or generated for them ([`choices`]);
//! 6. the bytes of a stream's state, before it is decoded ([`state_bytes`]), and what a stream has had so far, before
//!    the chunk is derendered ([`stream_length`]);
//! 7. the budget of a template, step by step while it runs;
//! 8. the characters of a prompt, before it is encoded ([`prompt_characters`]), and its tokens before an engine gets
//!    them ([`prompt_length`], [`prompt_fits`]).
//!
//! `tests/server/test_bounds.py` holds requests that break two limits at once to this order.

use serde::Deserialize;

use crate::{Error, Json, Result, ServingConfig, json};

/// The limits. Defaults are those of `dragoman.config.Bounds`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Bounds {
    /// Bytes of a request body.
    pub body_bytes: usize,
    /// Nesting of arrays and objects.
    pub json_depth: usize,
    /// Messages of a conversation.
    pub messages: usize,
    /// Tools of a request.
    pub tools: usize,
    /// Prompts of a completions request.
    pub prompts: usize,
    /// Choices (`n`) of a request, and sequences of a derender request.
    pub choices: usize,
    /// Bytes of a derender stream state.
    pub state_bytes: usize,
    /// Bytes of a name, an id, a role, a stop string or a bad word. Texts are bounded by body and context.
    pub string_bytes: usize,
    /// Steps of one run of a chat template.
    pub template_steps: u64,
    /// Bytes of text that one run of a chat template may make.
    pub template_bytes: usize,
    /// Milliseconds that one run of a chat template may take.
    pub template_milliseconds: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            body_bytes: 32 << 20,
            json_depth: 128,
            messages: 4096,
            tools: 1024,
            prompts: 1024,
            choices: 128,
            state_bytes: 128 << 10,
            string_bytes: 64 << 10,
            template_steps: 5_000_000,
            template_bytes: 64 << 20,
            template_milliseconds: 5000,
        }
    }
}

/// Refuses a body of more bytes than the limit.
///
/// # Errors
/// [`Error::TooLarge`].
pub fn body_bytes(body: &[u8], limits: &Bounds) -> Result<()> {
    if body.len() <= limits.body_bytes {
        return Ok(());
    }
    let message = format!("the body has {} bytes; at most {} are accepted", body.len(), limits.body_bytes);
    Err(Error::TooLarge { message })
}

/// Refuses a body whose arrays and objects nest deeper than the limit, before a recursive parser sees it.
///
/// # Errors
/// A validation error with the byte where the limit is passed.
pub fn json_depth(body: &[u8], limits: &Bounds) -> Result<()> {
    if memchr::memchr2_iter(b'[', b'{', body).take(limits.json_depth + 1).count() <= limits.json_depth {
        return Ok(());
    }
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    for (at, byte) in body.iter().enumerate() {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'[' | b'{' => {
                depth += 1;
                if depth > limits.json_depth {
                    let limit = limits.json_depth;
                    let message = format!("JSON nests deeper than {limit} levels at byte {at}");
                    return Err(Error::validation("", message));
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}

/// Refuses a list of more items than `limit`; `path` is the list's path below the body.
///
/// # Errors
/// A validation error that names the count and the limit.
pub fn count(path: &str, count: usize, limit: usize) -> Result<()> {
    if count <= limit {
        return Ok(());
    }
    Err(Error::validation(path, format!("{path} has {count} items; at most {limit} are accepted")))
}

/// Refuses more choices than the limit, where a request asks for them: what is generated must be answered too.
///
/// # Errors
/// A bad-request error that names the count and the limit.
pub fn choices(n: i64, limits: &Bounds) -> Result<()> {
    if usize::try_from(n).unwrap_or(0) <= limits.choices {
        return Ok(());
    }
    Err(Error::bad_request(format!("n must be at most {}, got {n}", limits.choices)))
}

/// Refuses a name, an id, a stop string or the like of more bytes than the limit.
///
/// # Errors
/// A validation error that names the length and the limit.
pub fn string_bytes(path: &str, text: &str, limits: &Bounds) -> Result<()> {
    bytes_of_strings(path, text.len(), limits)
}

/// Refuses strings, such as the stop strings of a request, that have more bytes together than one may have.
///
/// # Errors
/// A validation error that names the length and the limit.
pub fn strings_bytes(path: &str, texts: &[String], limits: &Bounds) -> Result<()> {
    bytes_of_strings(path, texts.iter().map(String::len).sum(), limits)
}

fn bytes_of_strings(path: &str, bytes: usize, limits: &Bounds) -> Result<()> {
    if bytes <= limits.string_bytes {
        return Ok(());
    }
    let message = format!("{path} has {bytes} bytes; at most {} are accepted", limits.string_bytes);
    Err(Error::validation(path, message))
}

/// Refuses an id that the model does not know.
///
/// # Errors
/// A bad-request error that names the id and the vocabulary size.
pub fn token_id(param: &str, id: u32, vocab_size: usize) -> Result<()> {
    if (id as usize) < vocab_size {
        return Ok(());
    }
    let message =
        format!("{param} holds token id {id}, which is out of vocabulary: ids are below {vocab_size}");
    Err(Error::bad_parameter(param, message))
}

/// Refuses a prompt of more than `room` tokens: what the context leaves beside `max_tokens` of output.
///
/// # Errors
/// A bad-request error on `input_tokens` that names length and limit.
pub fn prompt_length(
    tokens: usize,
    room: usize,
    max_tokens: Option<i64>,
    config: &ServingConfig,
) -> Result<()> {
    if tokens <= room {
        return Ok(());
    }
    let beside =
        max_tokens.map_or(String::new(), |output| format!(" beside the {output} output tokens asked for"));
    let message = format!(
        "the prompt has {tokens} input tokens, and this model's context of {} tokens holds at most {room}{beside}",
        config.max_model_len
    );
    Err(Error::bad_parameter("input_tokens", message))
}

/// Refuses a text too long for `room` tokens before it is encoded: no token stands for more than
/// `longest_token` characters.
///
/// # Errors
/// A bad-request error on `input_text` that names length and limit.
pub fn prompt_characters(
    text: &str,
    room: usize,
    longest_token: usize,
    config: &ServingConfig,
) -> Result<()> {
    let limit = room.saturating_mul(longest_token);
    if text.len() <= limit {
        return Ok(());
    }
    let characters = text.chars().count();
    if characters <= limit {
        return Ok(());
    }
    let message = format!(
        "the prompt has {characters} characters, more than the {limit} that {room} input tokens can stand for; this \
         model's context is {} tokens",
        config.max_model_len
    );
    Err(Error::bad_parameter("input_text", message))
}

/// Refuses a prompt that an engine of `max_model_len` tokens cannot take and add one token to.
///
/// # Errors
/// A bad-request error that names length and limit.
pub fn prompt_fits(tokens: usize, max_model_len: usize) -> Result<()> {
    if tokens < max_model_len {
        return Ok(());
    }
    Err(Error::bad_request(format!(
        "the prompt has {tokens} tokens; this model's context of {max_model_len} tokens must also hold one of output"
    )))
}

/// Refuses more log-probabilities than the server gives; -1 asks for the whole vocabulary.
///
/// # Errors
/// A bad-request error that names value and limit.
pub fn logprobs(param: &str, asked: i64, config: &ServingConfig) -> Result<()> {
    let vocabulary = i64::try_from(config.vocab_size).unwrap_or(i64::MAX);
    let asked = if asked == -1 { vocabulary } else { asked };
    if config.max_logprobs == -1 || asked <= config.max_logprobs {
        return Ok(());
    }
    let message =
        format!("{param} asks for {asked} log-probabilities; at most {} are given", config.max_logprobs);
    Err(Error::bad_parameter(param, message))
}

/// Refuses ids below 0 and from the vocabulary's size up.
///
/// # Errors
/// A bad-request error that names the first such id.
pub fn known_ids(param: &str, ids: &[i64], vocab_size: usize) -> Result<()> {
    let known = |id: &i64| usize::try_from(*id).is_ok_and(|id| id < vocab_size);
    match ids.iter().find(|id| !known(id)) {
        None => Ok(()),
        Some(id) => {
            let message =
                format!("{param} holds token id {id}, which is out of vocabulary: ids are 0 to {}", {
                    vocab_size.saturating_sub(1)
                });
            Err(Error::bad_parameter(param, message))
        }
    }
}

/// The model that a request names, where it names one, must be served here.
///
/// # Errors
/// [`Error::NotFound`] that lists the names.
pub fn model(name: Option<&str>, served: &[String]) -> Result<()> {
    match name {
        Some(name) if !name.is_empty() && !served.iter().any(|alias| alias == name) => Err(Error::NotFound {
            message: format!(
                "The model `{}` does not exist here. Served: {}.",
                json::clip(name),
                served.join(", ")
            ),
            param: Some("model".to_owned()),
        }),
        _ => Ok(()),
    }
}

/// Whether a value is an object, which a request body must be.
///
/// # Errors
/// A validation error on the body.
pub fn is_object(body: &Json<'_>) -> Result<()> {
    match body {
        Json::Object(_) => Ok(()),
        Json::Null => Err(Error::validation("", "Field required: the request body is null")),
        other => {
            let message = format!("the request body must be an object, not {}", json::preview(other));
            Err(Error::validation("", message))
        }
    }
}

/// Refuses more ids, or more entries about ids, than the model's context holds.
///
/// # Errors
/// A bad-request error that names count and limit.
pub fn id_count(path: &str, count: usize, max_model_len: usize) -> Result<()> {
    if count <= max_model_len {
        return Ok(());
    }
    let message = format!("{path} has {count} items, and this model's context length is {max_model_len}");
    Err(Error::bad_parameter(path, message))
}

/// Refuses a chunk that with all before it is longer than the model's context.
///
/// # Errors
/// A bad-request error that names the three counts and the limit.
pub fn stream_length(prompt: usize, before: usize, chunk: usize, max_model_len: usize) -> Result<()> {
    if prompt.saturating_add(before).saturating_add(chunk) <= max_model_len {
        return Ok(());
    }
    let message = format!(
        "{prompt} prompt ids, {before} ids derendered before and {chunk} ids of this chunk are more than this \
         model's context length of {max_model_len}"
    );
    Err(Error::bad_parameter("generate_chunk", message))
}

/// Refuses more alternatives at a position than the server offers (`--max-logprobs`; -1 is no limit).
///
/// # Errors
/// A bad-request error that names count and limit.
pub fn top_logprobs(path: &str, count: usize, max_logprobs: i64) -> Result<()> {
    match usize::try_from(max_logprobs) {
        Ok(limit) if count > limit => {
            let message = format!("{path} has {count} items; at most {limit} are accepted");
            Err(Error::bad_parameter(path, message))
        }
        _ => Ok(()),
    }
}

/// Refuses a count of tokens that cannot be one.
///
/// # Errors
/// A bad-request error that names the value and the limits.
pub fn token_count(path: &str, count: i64) -> Result<()> {
    if (0..=i64::from(u32::MAX)).contains(&count) {
        return Ok(());
    }
    let limit = u32::MAX;
    Err(Error::bad_parameter(path, format!("{path} is {count}; it must be between 0 and {limit}")))
}

/// Refuses a stream chunk of several choices: each has a state of its own.
///
/// # Errors
/// A bad-request error that names the count.
pub fn chunk_choices(count: usize) -> Result<()> {
    if count <= 1 {
        return Ok(());
    }
    Err(Error::bad_request(format!(
        "generate_chunk.choices has {count} choices; a chunk to derender has at most one"
    )))
}

/// Refuses a stream state that is too long to be one of ours.
///
/// # Errors
/// A bad-request error that names length and limit.
pub fn state_bytes(bytes: usize, limits: &Bounds) -> Result<()> {
    if bytes <= limits.state_bytes {
        return Ok(());
    }
    let limit = limits.state_bytes;
    Err(Error::bad_parameter(
        "stream_state",
        format!("stream_state has {bytes} bytes; at most {limit} are accepted"),
    ))
}
