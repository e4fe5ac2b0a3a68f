//! A client of the derender endpoint: whole answers, and streams whose state it carries.

use dragoman_derender::Derenderer;
use dragoman_protocol::Error;
use serde_json::{Value, json};

/// A message as one-shot and streamed answers must agree on it; nulls are empty texts.
#[derive(Debug, Default, PartialEq)]
pub struct Message {
    content: String,
    reasoning: String,
    /// Id, name and arguments, word for word.
    calls: Vec<(String, String, String)>,
    finish_reason: Value,
    stop_reason: Value,
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
            content: text(&message["content"]),
            reasoning: text(&message["reasoning"]),
            calls: message["tool_calls"].as_array().into_iter().flatten().map(call).collect(),
            finish_reason: choice["finish_reason"].clone(),
            stop_reason: choice["stop_reason"].clone(),
        }
    }

    fn add(&mut self, choice: &Value) {
        let delta = &choice["delta"];
        self.content += &text(&delta["content"]);
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
    pub request: Value,
    pub prompt: Option<Vec<u32>>,
    pub ids: &'a [u32],
    pub finish_reason: &'a str,
}

impl Asked<'_> {
    fn send(&self, mut body: Value) -> Result<Value, Error> {
        body["model"] = json!("m");
        body["chat_request"] = self.request.clone();
        body["prompt_token_ids"] = json!(self.prompt);
        let answer = self.derenderer.chat(body.to_string().as_bytes())?;
        Ok(serde_json::from_slice(&answer.body).expect("JSON"))
    }

    /// The answer to the whole output.
    ///
    /// # Errors
    /// What the server refuses.
    pub fn whole(&self) -> Result<Message, Error> {
        let choice = json!({"index": 0, "token_ids": self.ids, "finish_reason": self.finish_reason});
        let answer = self.send(json!({"generate_response": {"request_id": "r", "choices": [choice]}}))?;
        Ok(Message::whole(&answer["choices"][0]))
    }

    /// The answer to a chunk, with the state after it under `stream_state`. The last chunk brings the finish reason.
    ///
    /// # Errors
    /// What the server refuses.
    pub fn chunk(&self, ids: &[u32], last: bool, state: &Value) -> Result<Value, Error> {
        let finish_reason = last.then_some(self.finish_reason);
        let choice = json!({"index": 0, "token_ids": ids, "finish_reason": finish_reason});
        let chunk = json!({"request_id": "r", "choices": [choice]});
        self.send(json!({"stream": true, "generate_chunk": chunk, "stream_state": state}))
    }

    /// The message of a stream in chunks of these sizes, over and over; 0 is an empty chunk.
    ///
    /// # Errors
    /// What the server refuses.
    pub fn streamed(&self, sizes: &[u8]) -> Result<Message, Error> {
        let (mut message, mut state, mut rest) = (Message::default(), Value::Null, self.ids);
        let sizes = if sizes.iter().all(|size| *size == 0) { &[1][..] } else { sizes };
        for size in sizes.iter().cycle() {
            let (now, later) = rest.split_at(usize::from(*size).min(rest.len()));
            rest = later;
            let answer = self.chunk(now, rest.is_empty(), &state)?;
            message.add(&answer["chunk"]["choices"][0]);
            state = answer["stream_state"].clone();
            if rest.is_empty() {
                break;
            }
        }
        Ok(message)
    }
}
