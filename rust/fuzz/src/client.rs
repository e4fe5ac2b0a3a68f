//! A client of the derender endpoints: whole answers, and streams whose state it carries.

use dragoman_derender::Derenderer;
use dragoman_protocol::Error;
use serde_json::{Value, json};

use crate::tokenizer::SIZE;

/// Chunks of a stream, so that a long output takes no second.
const MAX_CHUNKS: usize = 100;

/// Which of the two endpoints is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoint {
    Chat,
    Completions,
}

/// A message as one-shot and streamed answers must agree on it; nulls are empty texts.
#[derive(Debug, Default, PartialEq)]
pub struct Message {
    content: String,
    reasoning: String,
    /// Id, name and arguments, word for word.
    calls: Vec<(String, String, String)>,
    finish_reason: Value,
    stop_reason: Value,
    /// Log-probabilities, token by token.
    logprobs: Vec<Value>,
    token_ids: Vec<Value>,
}

/// The entries of a choice's log-probabilities: the chat's list, or the completion's lists side by side.
fn logprobs(choice: &Value) -> Vec<Value> {
    let logprobs = &choice["logprobs"];
    if let Some(content) = logprobs["content"].as_array() {
        return content.clone();
    }
    let list = |name: &str| logprobs[name].as_array().cloned().unwrap_or_default();
    let lists = ["text_offset", "token_logprobs", "tokens", "top_logprobs"].map(list);
    assert!(lists.iter().all(|list| list.len() == lists[0].len()), "lists of unequal lengths: {logprobs}");
    (0..lists[0].len()).map(|place| lists.iter().map(|list| list[place].clone()).collect()).collect()
}

fn token_ids(choice: &Value) -> Vec<Value> {
    choice["token_ids"].as_array().cloned().unwrap_or_default()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn call(call: &Value) -> (String, String, String) {
    let function = &call["function"];
    (text(&call["id"]), text(&function["name"]), text(&function["arguments"]))
}

impl Message {
    /// Whether it holds a call.
    #[must_use]
    pub fn has_calls(&self) -> bool {
        !self.calls.is_empty()
    }

    fn whole(choice: &Value) -> Self {
        let message = &choice["message"];
        Self {
            content: text(&message["content"]) + &text(&choice["text"]),
            reasoning: text(&message["reasoning"]),
            calls: message["tool_calls"].as_array().into_iter().flatten().map(call).collect(),
            finish_reason: choice["finish_reason"].clone(),
            stop_reason: choice["stop_reason"].clone(),
            logprobs: logprobs(choice),
            token_ids: token_ids(choice),
        }
    }

    fn add(&mut self, choice: &Value) {
        let delta = &choice["delta"];
        self.content += &text(&delta["content"]);
        self.content += &text(&choice["text"]);
        self.logprobs.extend(logprobs(choice));
        self.token_ids.extend(token_ids(choice));
        self.reasoning += &text(&delta["reasoning"]);
        for part in delta["tool_calls"].as_array().into_iter().flatten() {
            let index = part["index"].as_u64().and_then(|index| usize::try_from(index).ok());
            let (id, name, arguments) = call(part);
            if index == Some(self.calls.len()) {
                self.calls.push((id, name, arguments));
                continue;
            }
            let last = self.calls.len().checked_sub(1);
            assert!(index.is_some() && index == last && id.is_empty(), "a call out of order: {part}");
            if let Some(last) = self.calls.last_mut() {
                last.2 += &arguments;
            }
        }
        if !choice["finish_reason"].is_null() {
            assert!(self.finish_reason.is_null(), "a second finish reason: {choice}");
            self.finish_reason = choice["finish_reason"].clone();
            self.stop_reason = choice["stop_reason"].clone();
        }
    }
}

/// What one derender request needs.
pub struct Asked<'a> {
    pub derenderer: &'a Derenderer,
    pub endpoint: Endpoint,
    pub request: Value,
    pub prompt: Option<Vec<u32>>,
    pub ids: &'a [u32],
    pub finish_reason: &'a str,
    /// Whether the engine gave log-probabilities.
    pub logprobs: bool,
    /// The number of choices. Those after the first begin with a later part of the ids.
    pub choices: usize,
}

impl Asked<'_> {
    /// The body of a request to the endpoint.
    fn body(&self, mut body: Value, single: bool) -> Vec<u8> {
        body["model"] = json!("m");
        let (chat, prompt) = (self.endpoint == Endpoint::Chat, &self.prompt);
        body[if chat { "chat_request" } else { "completion_request" }] = self.request.clone();
        body["prompt_token_ids"] = if single || prompt.is_none() { json!(prompt) } else { json!([prompt]) };
        body.to_string().into_bytes()
    }

    fn send(&self, body: Value, single: bool) -> Result<Value, Error> {
        let body = self.body(body, single);
        let answer = match self.endpoint {
            Endpoint::Chat => self.derenderer.chat(&body)?,
            Endpoint::Completions => self.derenderer.completions(&body)?,
        };
        Ok(serde_json::from_slice(&answer.body).expect("JSON"))
    }

    /// The ids of a choice.
    fn ids(&self, index: usize) -> Vec<u32> {
        let mut ids = self.ids.to_vec();
        ids.rotate_left(index * self.ids.len() / self.choices);
        ids
    }

    /// A choice as an engine writes it.
    fn choice(&self, index: usize, ids: &[u32], finish_reason: Option<&str>) -> Value {
        let mut choice = json!({"index": index, "token_ids": ids, "finish_reason": finish_reason});
        if self.logprobs {
            let entry = |&id: &u32| {
                let other = json!({"token_id": (id + 1) % SIZE, "logprob": -2.5});
                json!({"token_id": id, "logprob": -0.5, "top_logprobs": [{"token_id": id, "logprob": -0.5}, other]})
            };
            choice["logprobs"] = json!({"content": ids.iter().map(entry).collect::<Vec<_>>()});
        }
        choice
    }

    /// The answer to the whole output: a message for each choice.
    ///
    /// # Errors
    /// What the server refuses.
    pub fn whole(&self) -> Result<Vec<Message>, Error> {
        let choice = |index| self.choice(index, &self.ids(index), Some(self.finish_reason));
        let response =
            json!({"request_id": "r", "choices": (0..self.choices).map(choice).collect::<Vec<_>>()});
        let answer = match self.endpoint {
            Endpoint::Chat => self.send(json!({"generate_response": response}), true)?,
            Endpoint::Completions => self.send(json!({"generate_responses": [response]}), false)?,
        };
        Ok(answer["choices"].as_array().into_iter().flatten().map(Message::whole).collect())
    }

    /// The answer to a chunk of a choice, with the state after it under `stream_state`. The last chunk brings the
    /// finish reason.
    ///
    /// # Errors
    /// What the server refuses.
    pub fn chunk(&self, index: usize, ids: &[u32], last: bool, state: &Value) -> Result<Value, Error> {
        let choice = self.choice(index, ids, last.then_some(self.finish_reason));
        let chunk = json!({"request_id": "r", "choices": [choice]});
        self.send(json!({"stream": true, "generate_chunk": chunk, "stream_state": state}), true)
    }

    /// These bytes as the state of a choice of a chat, with the tag that belongs to them.
    #[must_use]
    pub fn sign(&self, index: usize, state: &[u8]) -> Option<Value> {
        if self.endpoint == Endpoint::Completions {
            return None;
        }
        let chunk = json!({"request_id": "r", "choices": [self.choice(index, &[], None)]});
        let body = self.body(json!({"stream": true, "generate_chunk": chunk}), true);
        self.derenderer.sign_chat_state(&body, state).ok()?
    }

    /// The messages of the choices' streams in chunks of these sizes, over and over; 0 is an empty chunk. After
    /// [`MAX_CHUNKS`] the rest comes at once.
    ///
    /// # Errors
    /// What the server refuses.
    pub fn streamed(&self, sizes: &[u8]) -> Result<Vec<Message>, Error> {
        let sizes = if sizes.iter().all(|size| *size == 0) { &[1][..] } else { sizes };
        (0..self.choices).map(|index| self.stream(index, sizes)).collect()
    }

    fn stream(&self, index: usize, sizes: &[u8]) -> Result<Message, Error> {
        let ids = self.ids(index);
        let (mut message, mut state, mut rest) = (Message::default(), Value::Null, ids.as_slice());
        for (number, size) in sizes.iter().cycle().enumerate() {
            let size = if number < MAX_CHUNKS { usize::from(*size) } else { rest.len() };
            let (now, later) = rest.split_at(size.min(rest.len()));
            rest = later;
            let answer = self.chunk(index, now, rest.is_empty(), &state)?;
            message.add(&answer["chunk"]["choices"][0]);
            state = answer["stream_state"].clone();
            if rest.is_empty() {
                break;
            }
        }
        Ok(message)
    }
}
