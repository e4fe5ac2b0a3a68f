//! Events to the message, or to the next delta of one.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::parse::{Event, Events};

/// White space before and between calls that is held back; more of it is content.
const MAX_BLANKS: usize = 64;

/// What the next deltas depend on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// White space at the start of the answer or after a call, which goes out only if text follows.
    blanks: String,
    has_text: bool,
    /// Whether the answer's text so far ends in something else than white space.
    unbroken: bool,
    /// Calls begun, and calls completed.
    pub calls: u32,
    pub complete: u32,
    /// Whether calls after the first are dropped and one is under way.
    dropping: bool,
}

/// What is new in a message. A whole message is one delta.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Delta {
    pub content: String,
    pub reasoning: String,
    pub calls: Vec<CallDelta>,
}

/// What is new in a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallDelta {
    pub index: u32,
    /// Id and name, where the call begins.
    pub start: Option<(String, String)>,
    pub arguments: String,
}

/// How events are taken into a message.
pub struct Assembler<'o> {
    /// Whether calls after the first count (`parallel_tool_calls`).
    pub parallel: bool,
    /// Whether white space around calls is dropped: only where calls are looked for.
    pub trims: bool,
    /// Names a call by its index, where the model has not.
    pub call_id: &'o dyn Fn(u32) -> String,
}

impl Assembler<'_> {
    /// Takes the events into the delta.
    pub fn take(&self, state: &mut State, events: &mut Events, delta: &mut Delta) {
        for event in events.drain() {
            match event {
                Event::Content(text) => self.content(state, &text, delta),
                Event::Reasoning(text) => delta.reasoning.push_str(&text),
                Event::ToolCallStart { name, id } => {
                    state.dropping = !self.parallel && state.calls > 0;
                    if state.dropping {
                        continue;
                    }
                    state.blanks.clear();
                    state.has_text = false;
                    let id = id.unwrap_or_else(|| (self.call_id)(state.calls));
                    delta.calls.push(CallDelta {
                        index: state.calls,
                        start: Some((id, name)),
                        arguments: String::new(),
                    });
                    state.calls += 1;
                }
                Event::ToolCallArguments(_) | Event::ToolCallEnd if state.dropping => {}
                Event::ToolCallEnd => state.complete += 1,
                // White space before a call is no text, though nothing of the call is told.
                Event::ToolCallCut => state.blanks.clear(),
                Event::ToolCallArguments(text) => {
                    let index = state.calls.saturating_sub(1);
                    match delta.calls.last_mut() {
                        Some(call) if call.index == index => call.arguments.push_str(&text),
                        _ => delta.calls.push(CallDelta { index, start: None, arguments: text }),
                    }
                }
            }
        }
    }

    /// The message ends: held white space goes out unless it stood around calls.
    pub fn finish(state: &mut State, delta: &mut Delta) {
        let blanks = std::mem::take(&mut state.blanks);
        if state.calls == 0 {
            delta.content.push_str(&blanks);
        }
    }

    fn content(&self, state: &mut State, text: &str, delta: &mut Delta) {
        if state.has_text || !self.trims {
            Self::push(state, text, delta);
            return;
        }
        state.blanks.push_str(text);
        if state.blanks.len() > MAX_BLANKS || !state.blanks.trim().is_empty() {
            state.has_text = true;
            let text = std::mem::take(&mut state.blanks);
            // Texts around a call are two texts, also where the format puts no white space between.
            if state.unbroken && state.calls > 0 && !text.starts_with(char::is_whitespace) {
                delta.content.push('\n');
            }
            Self::push(state, &text, delta);
        }
    }

    fn push(state: &mut State, text: &str, delta: &mut Delta) {
        if let Some(last) = text.chars().next_back() {
            state.unbroken = !last.is_whitespace();
            delta.content.push_str(text);
        }
    }
}

impl Delta {
    /// The members of a stream's `delta`.
    #[must_use]
    pub fn into_delta(self, role: bool) -> Value {
        let mut members = Map::new();
        if role {
            members.insert("role".to_owned(), json!("assistant"));
        }
        if !self.reasoning.is_empty() {
            members.insert("reasoning".to_owned(), json!(self.reasoning));
        }
        if !self.content.is_empty() {
            members.insert("content".to_owned(), json!(self.content));
        }
        if !self.calls.is_empty() {
            let calls: Vec<Value> = self.calls.into_iter().flat_map(CallDelta::into_delta).collect();
            members.insert("tool_calls".to_owned(), Value::Array(calls));
        }
        Value::Object(members)
    }

    /// The whole message. `forced`: the request forced a call, whose message has an empty content as in vLLM.
    #[must_use]
    pub fn into_message(self, forced: bool) -> Value {
        let mut calls: Vec<(String, String, String)> = Vec::new();
        for call in self.calls {
            match (call.start, calls.last_mut()) {
                (Some((id, name)), _) => calls.push((id, name, call.arguments)),
                (None, Some(last)) => last.2.push_str(&call.arguments),
                (None, None) => {}
            }
        }
        let empty = self.content.is_empty() && (!calls.is_empty() || !self.reasoning.is_empty());
        let content = if empty && (calls.is_empty() || !forced) { Value::Null } else { json!(self.content) };
        let reasoning = if self.reasoning.is_empty() { Value::Null } else { json!(self.reasoning) };
        let mut message = json!({
            "role": "assistant",
            "content": content,
            "refusal": null,
            "annotations": null,
            "audio": null,
            "function_call": null,
        });
        if let Value::Object(members) = &mut message {
            if !calls.is_empty() {
                let calls = calls.into_iter().map(|(id, name, arguments)| {
                    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
                });
                members.insert("tool_calls".to_owned(), calls.collect());
            }
            members.insert("reasoning".to_owned(), reasoning);
        }
        message
    }
}

impl CallDelta {
    /// As vLLM: the name in one entry, arguments in another.
    fn into_delta(self) -> impl Iterator<Item = Value> {
        let index = self.index;
        let start = self.start.map(
            |(id, name)| json!({"id": id, "type": "function", "index": index, "function": {"name": name}}),
        );
        let arguments = Some(self.arguments).filter(|text| !text.is_empty());
        let arguments = arguments.map(|text| json!({"index": index, "function": {"arguments": text}}));
        start.into_iter().chain(arguments)
    }
}
