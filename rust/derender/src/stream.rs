//! The answer to a chunk of a stream, the same for both endpoints but for what is in a choice.

use dragoman_protocol::derender::DerenderRequest;
use dragoman_protocol::generate_response::{GenerateChoice, GenerateResponse};
use dragoman_protocol::{Error, Fields, Result, bounds, json};
use serde::Serialize;
use serde_json::Value;

use crate::chat::id;
use crate::choice::{Choice, Pipeline, Step};
use crate::derenderer::{Derenderer, finish, now, passed, prompt, seed};
use crate::options::{Options, to_value};
use crate::state::Binding;
use crate::usage;

/// What tells the chunks of one endpoint from those of the other.
pub(crate) trait Endpoint {
    /// What its states are bound to.
    const NAME: &'static str;
    const OBJECT: &'static str;
    /// Whether the prompt's ids and the metrics stand beside the choices.
    const BESIDE: bool;
    type Choice<'a>: Serialize;

    /// What is new in the choice.
    fn choice<'a>(new: New<'a>, choice: &mut Choice) -> Self::Choice<'a>;
}

/// What a chunk brought for its choice.
pub(crate) struct New<'a> {
    pub derenderer: &'a Derenderer,
    pub options: &'a Options,
    pub generated: &'a GenerateChoice<'a, 'a>,
    pub step: Step,
    /// Whether it is the choice's first chunk.
    pub first: bool,
    pub prompt: &'a [u32],
    /// The prompt's ids, where the client gets them with this chunk.
    pub prompt_ids: Option<&'a [u32]>,
}

/// A chunk and what it came with.
pub(crate) struct Stream<'s> {
    pub derenderer: &'s Derenderer,
    pub request: &'s DerenderRequest<'s, 's>,
    pub chunk: &'s GenerateResponse<'s, 's>,
    pub options: &'s Options,
}

#[derive(Serialize)]
struct Answer<C> {
    chunk: C,
    stream_state: Value,
}

/// The client's chunk. What is null is left out, but in choices, where clients look for it.
#[derive(Serialize)]
struct Chunk<'a, C> {
    id: String,
    object: &'static str,
    created: u64,
    model: &'a str,
    choices: Vec<C>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<usage::Counts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_token_ids: Option<&'a [u32]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metrics: Option<json::Serialized<'a, 'a>>,
}

impl Stream<'_> {
    /// The bytes of the answer: the client's chunk, and the state for the next one. A chunk without choices brings
    /// nothing: its state is passed on unread.
    ///
    /// # Errors
    /// What the bounds refuse, and a state that is not of this stream, or has grown too long.
    pub(crate) fn answer<E: Endpoint>(&self, state: Option<&Fields<'_, '_>>) -> Result<Vec<u8>> {
        let (request, chunk) = (self.request, self.chunk);
        let emptied =
            chunk.choices.first().filter(|_| self.options.prompt_only).map(GenerateChoice::without_output);
        let Some(generated) = emptied.as_ref().or(chunk.choices.first()) else {
            let state = state.map(|state| to_value(state.value())).unwrap_or_default();
            bounds::state_bytes(state.to_string().len(), &self.derenderer.config.bounds)?;
            return self.write::<E>(Vec::new(), None, state);
        };
        let request_binding = self.options.binding();
        let binding = self.binding::<E>(&request_binding, generated.index);
        let mut choice = self.choice(&binding, state)?;
        // As the reference: a completion's prompt may fill the context.
        let prompt_tokens = if E::BESIDE { choice.plain.prompt_tokens as usize } else { 0 };
        let before = choice.plain.tokens as usize;
        bounds::stream_length(prompt_tokens, before, generated.token_ids.len(), binding.max_model_len)?;
        let seed = choice.plain.seed;
        let pipeline = Pipeline { detokenizer: &self.derenderer.detokenizer, options: self.options, seed };
        let step = pipeline.push(&mut choice, &generated.token_ids, finish(generated));

        let first = !std::mem::replace(&mut choice.plain.role_sent, true);
        let prompt = prompt(request, chunk, 0);
        let prompt_ids = (first && self.options.return_token_ids && !prompt.is_empty()).then_some(prompt);
        let (derenderer, options) = (self.derenderer, self.options);
        let new = New { derenderer, options, generated, step, first, prompt, prompt_ids };
        let written = E::choice(new, &mut choice);
        let state = choice.save(options);
        bounds::state_bytes(state.len() / 3 * 4 + 32, &derenderer.config.bounds)?;
        self.write::<E>(vec![written], prompt_ids.filter(|_| E::BESIDE), binding.write(&state))
    }

    fn binding<'b, E: Endpoint>(&'b self, request: &'b [u8], index: i64) -> Binding<'b> {
        let config = &self.derenderer.config;
        Binding {
            key: &config.stream_state_key,
            server: self.derenderer.fingerprint,
            request,
            request_id: self.chunk.request_id.unwrap_or_default(),
            endpoint: E::NAME,
            index,
            max_model_len: config.max_model_len,
        }
    }

    /// These bytes as the state of the chunk's choice, with the tag that belongs to them.
    pub(crate) fn sign<E: Endpoint>(&self, state: &[u8]) -> Value {
        let index = self.chunk.choices.first().map_or(0, |choice| choice.index);
        self.binding::<E>(&self.options.binding(), index).write(state)
    }

    /// The choice as the chunk before left it.
    fn choice(&self, binding: &Binding<'_>, state: Option<&Fields<'_, '_>>) -> Result<Choice> {
        let state = state.map(|state| binding.read(state, &self.derenderer.config.bounds)).transpose()?;
        let Some(bytes) = state.flatten() else {
            let seed = seed(&[binding.request_id.as_bytes(), &binding.index.to_le_bytes()]);
            return Ok(self.derenderer.fresh(self.options, prompt(self.request, self.chunk, 0), seed));
        };
        Choice::load(self.options, &bytes)
            .ok_or_else(|| Error::bad_parameter("stream_state", "stream_state is damaged"))
    }

    fn write<E: Endpoint>(
        &self,
        choices: Vec<E::Choice<'_>>,
        prompt_token_ids: Option<&[u32]>,
        stream_state: Value,
    ) -> Result<Vec<u8>> {
        let (request, chunk) = (self.request, self.chunk);
        let counted = request.prompt_tokens.as_ref().and_then(|counts| counts.first()).copied();
        let chunk = Chunk {
            id: id(chunk.request_id, b"chunk"),
            object: E::OBJECT,
            created: now(),
            model: self.derenderer.model(request),
            choices,
            usage: chunk.usage.map(|engine| usage::of_chunk(engine, counted)),
            prompt_token_ids,
            metrics: passed(chunk.metrics).filter(|_| E::BESIDE),
        };
        json::to_bytes(&Answer { chunk, stream_state })
    }
}
