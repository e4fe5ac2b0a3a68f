//! The bodies of `/v1/chat/completions/derender` and `/v1/completions/derender`.

use crate::fields::{self, join};
use crate::generate_response::{GenerateResponse, prompt_ids};
use crate::{Body, Error, Fields, Json, Result, ServingConfig, bounds};

/// What there is to derender.
#[derive(Clone)]
pub enum Generated<'v, 'a> {
    /// Whole responses: one for chat, one per prompt for completions.
    Whole(Vec<GenerateResponse<'v, 'a>>),
    /// One chunk of a stream, with the state that the answer to the chunk before carried.
    Chunk { chunk: Box<GenerateResponse<'v, 'a>>, state: Option<Fields<'v, 'a>> },
}

/// A derender request.
#[derive(Clone)]
pub struct DerenderRequest<'v, 'a> {
    pub model: Option<&'v str>,
    pub generated: Generated<'v, 'a>,
    /// Tokens of each prompt, where given; of a chat or a stream there is one.
    pub prompt_tokens: Option<Vec<i64>>,
    /// Ids of each prompt, where given.
    pub prompt_token_ids: Vec<Option<Vec<u32>>>,
    /// Whether `prompt_token_ids` was given at all.
    pub prompts_given: bool,
    /// `chat_request` or `completion_request`: what the client asked for.
    pub request: Option<Fields<'v, 'a>>,
}

impl<'v, 'a> DerenderRequest<'v, 'a> {
    /// Reads the body of a chat request.
    ///
    /// # Errors
    /// Validation errors with the path of the parameter at fault, and the bounds.
    pub fn chat(body: &'v Body<'a>, config: &ServingConfig) -> Result<Self> {
        Self::parse(body, true, config)
    }

    /// Reads the body of a completions request.
    ///
    /// # Errors
    /// Validation errors with the path of the parameter at fault, and the bounds.
    pub fn completions(body: &'v Body<'a>, config: &ServingConfig) -> Result<Self> {
        Self::parse(body, false, config)
    }

    fn parse(whole: &'v Body<'a>, chat: bool, config: &ServingConfig) -> Result<Self> {
        let body = Fields::of_body(&whole.value)?;
        let model = body.string("model")?;
        bounds::model(model, &config.served_model_names)?;
        let streamed = body.flag("stream", false)?;
        let single = chat || streamed;
        let generated = if streamed {
            let fields = Fields::of(body.required("generate_chunk")?, "generate_chunk".to_owned())?;
            let chunk = Box::new(GenerateResponse::parse(&fields, true, whole, config)?);
            bounds::chunk_choices(chunk.choices.len())?;
            Generated::Chunk { chunk, state: body.object("stream_state")? }
        } else if chat {
            let fields = Fields::of(body.required("generate_response")?, "generate_response".to_owned())?;
            Generated::Whole(vec![GenerateResponse::parse(&fields, false, whole, config)?])
        } else {
            let path = "generate_responses";
            let responses = fields::list(body.required(path)?, path)?;
            bounds::count(path, responses.len(), config.bounds.prompts)?;
            let response = |(index, response): (usize, &'v Json<'a>)| {
                let fields = Fields::of(response, join(path, &index.to_string()))?;
                GenerateResponse::parse(&fields, false, whole, config)
            };
            Generated::Whole(responses.iter().enumerate().map(response).collect::<Result<_>>()?)
        };
        let request = body.object(if chat { "chat_request" } else { "completion_request" })?;
        if let (true, Some(request)) = (chat, &request) {
            fields::list(request.required("messages")?, &request.path("messages"))?;
        }
        Ok(Self {
            model,
            generated,
            prompt_tokens: prompt_tokens(&body, single)?,
            prompts_given: body.some("prompt_token_ids").is_some(),
            prompt_token_ids: prompt_token_ids(&body, single, whole, config)?,
            request,
        })
    }
}

fn prompt_tokens(body: &Fields<'_, '_>, single: bool) -> Result<Option<Vec<i64>>> {
    let path = "prompt_tokens";
    let Some(value) = body.some(path) else { return Ok(None) };
    let count = |value: &Json<'_>, path: &str| -> Result<i64> {
        let number = fields::integer(value, path)?;
        bounds::token_count(path, number)?;
        Ok(number)
    };
    if single {
        return Ok(Some(vec![count(value, path)?]));
    }
    let counts = fields::list(value, path)?.iter().enumerate();
    counts
        .map(|(index, value)| count(value, &join(path, &index.to_string())))
        .collect::<Result<_>>()
        .map(Some)
}

fn prompt_token_ids(
    body: &Fields<'_, '_>,
    single: bool,
    whole: &Body<'_>,
    config: &ServingConfig,
) -> Result<Vec<Option<Vec<u32>>>> {
    let path = "prompt_token_ids";
    let Some(value) = body.some(path) else { return Ok(Vec::new()) };
    if single {
        return Ok(vec![Some(prompt_ids(value, path, whole, config)?)]);
    }
    let prompts = fields::list(value, path)?;
    bounds::count(path, prompts.len(), config.bounds.prompts)?;
    let prompt = |(index, ids): (usize, &Json<'_>)| match ids {
        Json::Null => Ok(None),
        ids => prompt_ids(ids, &join(path, &index.to_string()), whole, config).map(Some),
    };
    prompts.iter().enumerate().map(prompt).collect()
}

/// A choice without ids has nothing to derender; among others, it is an empty one.
///
/// # Errors
/// A bad-request error that names the choice.
pub fn refuse_empty(response: &GenerateResponse<'_, '_>) -> Result<()> {
    match response.choices.iter().find(|choice| choice.token_ids.is_empty()) {
        Some(choice) if response.choices.iter().all(|choice| choice.token_ids.is_empty()) => {
            let id = response.request_id.unwrap_or_default();
            Err(Error::bad_request(format!(
                "choice {} in response {id:?} has empty or null token_ids",
                choice.index
            )))
        }
        _ => Ok(()),
    }
}
