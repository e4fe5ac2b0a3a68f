//! The entry points: bodies in, answers out.

use std::hash::Hasher;
use std::sync::Arc;

use dragoman_protocol::derender::{DerenderRequest, Generated};
use dragoman_protocol::generate_response::{GenerateChoice, GenerateResponse, StopReason};
use dragoman_protocol::{
    Body, Bounds, Error as RequestError, Fields, Json, Result, SamplingParams, ServingConfig, bounds, json,
};
use dragoman_tokenizer::{Tokenizer, Vocabulary};
use serde_json::Value;
use siphasher::sip::SipHasher24;

use crate::choice::{Choice, Finish, Pipeline};
use crate::detok::Detokenizer;
use crate::options::{Options, Parsers};
use crate::parse::Build;
use crate::stream::Stream;
use crate::{Error, chat, completions, reasoning, tool};

/// An answer, as bytes of JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub body: Vec<u8>,
    /// False where parsers would have run, had the client's request come along: `X-Dragoman-Parsed`.
    pub parsed: bool,
}

/// Turns what an engine generated into what a client expects. Built once, shared by all threads.
pub struct Derenderer {
    pub(crate) tokenizer: Arc<Tokenizer>,
    pub(crate) vocabulary: Arc<Vocabulary>,
    pub(crate) detokenizer: Detokenizer,
    pub(crate) config: Arc<ServingConfig>,
    pub(crate) parsers: Parsers,
    /// Tells servers apart whose states do not fit each other.
    pub(crate) fingerprint: u64,
}

impl Derenderer {
    /// A derenderer of a tokenizer, with the parsers that the configuration names.
    ///
    /// # Errors
    /// [`Error::UnknownParser`], which lists the names that there are.
    pub fn new(tokenizer: Arc<Tokenizer>, config: Arc<ServingConfig>) -> std::result::Result<Self, Error> {
        let vocabulary = Arc::new(Vocabulary::new(&tokenizer));
        let build = Build { tokenizer: &tokenizer, vocabulary: &vocabulary };
        let tool = match config.tool_call_parser.as_deref() {
            Some(name) => {
                Some(tool::build(name, build).ok_or_else(|| Error::unknown("tool-call", name, tool::NAMES))?)
            }
            None => None,
        };
        let openers = tool.as_ref().map(|tool| tool.openers()).unwrap_or_default();
        let reasoning = |calls: &[&'static str]| match config.reasoning_parser.as_deref() {
            Some(name) => match reasoning::build(name, calls, build) {
                Some(parser) => Ok(Some(parser)),
                None => Err(Error::unknown("reasoning", name, reasoning::NAMES)),
            },
            None => Ok(None),
        };
        let parsers = Parsers {
            reasoning: reasoning(&[])?,
            reasoning_before_calls: reasoning(&openers)?,
            tool,
            auto: config.enable_auto_tool_choice,
        };
        let mut hasher = SipHasher24::new();
        hasher.write_u64(vocabulary.fingerprint());
        for name in [&config.reasoning_parser, &config.tool_call_parser] {
            hasher.write(name.as_deref().unwrap_or_default().as_bytes());
            hasher.write_u8(0);
        }
        let detokenizer = Detokenizer::new(Arc::clone(&tokenizer), Arc::clone(&vocabulary));
        Ok(Self { fingerprint: hasher.finish(), tokenizer, vocabulary, detokenizer, config, parsers })
    }

    /// Answers `/v1/chat/completions/derender`, a whole response or a chunk of a stream: the body says which.
    ///
    /// # Errors
    /// What the body's fields, the bounds and the stream's state refuse.
    pub fn chat(&self, body: &[u8]) -> Result<Answer> {
        let parsed = Body::parse(body, &self.config.bounds)?;
        let request = DerenderRequest::chat(&parsed, &self.config)?;
        let options = self.chat_options(&request)?;
        let body = match &request.generated {
            Generated::Whole(responses) => match responses.first() {
                Some(response) => chat::whole(self, &request, response, &options, body)?,
                None => return Err(RequestError::bad_request("generate_response must be given")),
            },
            Generated::Chunk { chunk, state } => {
                let stream = Stream { derenderer: self, request: &request, chunk, options: &options };
                stream.answer::<chat::Chat>(state.as_ref())?
            }
        };
        let parsers = self.parsers.reasoning.is_some() || self.parsers.tool.is_some();
        Ok(Answer { body, parsed: options.requested || !parsers })
    }

    /// Answers `/v1/completions/derender`, whole responses or a chunk of a stream: the body says which.
    ///
    /// # Errors
    /// What the body's fields, the bounds and the stream's state refuse.
    pub fn completions(&self, body: &[u8]) -> Result<Answer> {
        let parsed = Body::parse(body, &self.config.bounds)?;
        let request = DerenderRequest::completions(&parsed, &self.config)?;
        let options = match &request.request {
            Some(fields) => Options::completions(fields, &self.config)?,
            None => Options::plain(&self.config),
        };
        let body = match &request.generated {
            Generated::Whole(responses) => completions::whole(self, &request, responses, &options, body)?,
            Generated::Chunk { chunk, state } => {
                let stream = Stream { derenderer: self, request: &request, chunk, options: &options };
                stream.answer::<completions::Completions>(state.as_ref())?
            }
        };
        Ok(Answer { body, parsed: true })
    }

    /// These bytes as the `stream_state` of a chunk's body, with the tag that belongs to them. For tests of what stands
    /// behind the tag: no client's bytes come here.
    ///
    /// # Errors
    /// What the body's fields refuse; None where the body is no chunk of a stream.
    #[doc(hidden)]
    pub fn sign_chat_state(&self, body: &[u8], state: &[u8]) -> Result<Option<Value>> {
        let parsed = Body::parse(body, &self.config.bounds)?;
        let request = DerenderRequest::chat(&parsed, &self.config)?;
        let options = self.chat_options(&request)?;
        let Generated::Chunk { chunk, .. } = &request.generated else { return Ok(None) };
        let stream = Stream { derenderer: self, request: &request, chunk, options: &options };
        Ok(Some(stream.sign::<chat::Chat>(state)))
    }

    fn chat_options(&self, request: &DerenderRequest<'_, '_>) -> Result<Options> {
        match &request.request {
            Some(fields) => Options::chat(fields, &self.parsers, self.build(), &self.config),
            None => Ok(Options::plain(&self.config)),
        }
    }

    /// The limits on requests.
    #[must_use]
    pub fn bounds(&self) -> &Bounds {
        &self.config.bounds
    }

    /// Whether the configuration names a reasoning parser.
    #[must_use]
    pub fn has_reasoning_parser(&self) -> bool {
        self.parsers.reasoning.is_some()
    }

    /// Whether the last turn of a prompt closes the reasoning, so that the answer begins at once.
    #[must_use]
    pub fn prompt_ends_reasoning(&self, prompt: &[u32]) -> bool {
        let build = Build { tokenizer: &self.tokenizer, vocabulary: &self.vocabulary };
        let parser = self.parsers.reasoning.as_ref();
        parser.is_some_and(|parser| parser.opening(prompt, build) == reasoning::Opening::Closed)
    }

    /// Whether these ids, the last of an output, bring its reasoning to an end. False without a reasoning parser.
    #[must_use]
    pub fn output_ends_reasoning(&self, output: &[u32]) -> bool {
        self.parsers.reasoning.as_ref().is_some_and(|parser| parser.ends(output, self.build()))
    }

    /// Begins a stream in this process. Without a chat request it detokenizes only.
    ///
    /// # Errors
    /// What the chat request's fields refuse, and prompt ids out of vocabulary.
    pub fn stream(&self, prompt_token_ids: &[u32], chat_request: Option<&[u8]>) -> Result<ChoiceStream> {
        let parsed = chat_request.map(|body| json::parse(body, &self.config.bounds)).transpose()?;
        let options = match &parsed {
            Some(body) => Options::chat(&Fields::of_body(body)?, &self.parsers, self.build(), &self.config)?,
            None => Options::plain(&self.config),
        };
        self.begin(prompt_token_ids, Arc::new(options), seed(&[chat_request.unwrap_or_default()]))
    }

    /// Begins a stream that finds the stop strings of a generate request: [`ChoiceStream::stop_string`]. With
    /// `reasoning` the server's reasoning parser reads along, so that none is found in what is thought.
    ///
    /// # Errors
    /// Prompt ids out of vocabulary.
    pub fn watch_stops(
        &self,
        prompt_token_ids: &[u32],
        sampling: &SamplingParams,
        reasoning: bool,
    ) -> Result<ChoiceStream> {
        let reasoning = self.parsers.reasoning.clone().filter(|_| reasoning);
        let options = Options { reasoning, ..Options::sampling(sampling, &self.config) };
        self.begin(prompt_token_ids, Arc::new(options), 0)
    }

    /// Begins another choice of the same request.
    ///
    /// # Errors
    /// Prompt ids out of vocabulary.
    pub fn another(&self, prompt_token_ids: &[u32], choice: &ChoiceStream) -> Result<ChoiceStream> {
        self.begin(prompt_token_ids, Arc::clone(&choice.options), choice.seed)
    }

    fn begin(&self, prompt: &[u32], options: Arc<Options>, seed: u64) -> Result<ChoiceStream> {
        for &id in prompt {
            bounds::token_id("prompt_token_ids", id, self.config.vocab_size)?;
        }
        let pipeline = Pipeline { detokenizer: &self.detokenizer, options: &options, seed };
        let choice = pipeline.start(prompt, self.build());
        Ok(ChoiceStream {
            detokenizer: self.detokenizer.clone(),
            vocab_size: self.config.vocab_size,
            options,
            choice,
            seed,
        })
    }

    pub(crate) fn build(&self) -> Build<'_> {
        Build { tokenizer: &self.tokenizer, vocabulary: &self.vocabulary }
    }

    /// The name that answers carry.
    pub(crate) fn model<'m>(&'m self, request: &'m DerenderRequest<'_, '_>) -> &'m str {
        request.model.filter(|name| !name.is_empty()).unwrap_or_else(|| self.config.model_name())
    }

    pub(crate) fn fresh(&self, options: &Options, prompt: &[u32], seed: u64) -> Choice {
        let pipeline = Pipeline { detokenizer: &self.detokenizer, options, seed };
        let mut choice = pipeline.start(prompt, self.build());
        choice.plain.prompt_tokens = u32::try_from(prompt.len()).unwrap_or(u32::MAX);
        choice
    }
}

/// The end of a choice, where this chunk brings it.
pub(crate) fn finish<'f>(choice: &'f GenerateChoice<'_, '_>) -> Option<Finish<'f>> {
    choice.finish_reason.map(|reason| Finish { reason, stop_reason: choice.stop_reason.as_ref() })
}

/// One choice, streamed in this process.
pub struct ChoiceStream {
    detokenizer: Detokenizer,
    vocab_size: usize,
    options: Arc<Options>,
    choice: Choice,
    seed: u64,
}

impl ChoiceStream {
    /// The delta that the next ids bring, as the bytes of a JSON object.
    ///
    /// # Errors
    /// An id that is out of vocabulary.
    pub fn push(&mut self, ids: &[u32]) -> Result<Vec<u8>> {
        for &id in ids {
            bounds::token_id("token_ids", id, self.vocab_size)?;
        }
        self.step(ids, None)
    }

    /// The last delta: what was held back.
    ///
    /// # Errors
    /// None that a caller can cause.
    pub fn finish(
        &mut self,
        finish_reason: Option<&str>,
        stop_reason: Option<&StopReason>,
    ) -> Result<Vec<u8>> {
        self.step(&[], Some(Finish { reason: finish_reason.unwrap_or("stop"), stop_reason }))
    }

    /// The stop string that has been met.
    #[must_use]
    pub fn stop_string(&self) -> Option<&str> {
        let index = self.choice.plain.stopped?;
        self.options.stops.string(index)
    }

    /// The finish reason that a client is told at the end: `tool_calls` for completed calls.
    #[must_use]
    pub fn completed_calls(&self) -> u32 {
        self.choice.plain.message.complete
    }

    fn step(&mut self, ids: &[u32], finish: Option<Finish<'_>>) -> Result<Vec<u8>> {
        let pipeline = Pipeline { detokenizer: &self.detokenizer, options: &self.options, seed: self.seed };
        let step = pipeline.push(&mut self.choice, ids, finish);
        let role = !std::mem::replace(&mut self.choice.plain.role_sent, true);
        json::to_bytes(&step.delta.into_delta(role))
    }
}

/// The ids of a prompt: the request's own, or those that the engine gave back.
pub(crate) fn prompt<'p>(
    request: &'p DerenderRequest<'_, '_>,
    response: &'p GenerateResponse<'_, '_>,
    index: usize,
) -> &'p [u32] {
    let given = request.prompt_token_ids.get(index).and_then(Option::as_deref);
    given.or(response.prompt_token_ids.as_deref()).unwrap_or_default()
}

/// A number that is the same for the same facts.
pub(crate) fn seed(parts: &[&[u8]]) -> u64 {
    let mut hasher = SipHasher24::new();
    for part in parts {
        hasher.write_u64(part.len() as u64);
        hasher.write(part);
    }
    hasher.finish()
}

/// A JSON value as it came; null where there is none.
pub(crate) fn passed<'v, 'a>(value: Option<&'v Json<'a>>) -> Option<json::Serialized<'v, 'a>> {
    value.map(json::Serialized)
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
