//! Events to the message, or to the next delta of one.

use dragoman_protocol::text::Text;
use serde::{Deserialize, Serialize};

use crate::arguments;
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
    /// The arguments of the call under way.
    arguments: arguments::State,
}

impl State {
    /// See [`crate::parse::State::is_valid`].
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.blanks.len() <= MAX_BLANKS && self.complete <= self.calls && self.arguments.is_valid()
    }
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
                Event::Reasoning(text) if delta.reasoning.is_empty() => delta.reasoning = text,
                Event::Reasoning(text) => delta.reasoning.push_str(&text),
                Event::ToolCallStart { name, id } => {
                    state.dropping = !self.parallel && state.calls > 0;
                    if state.dropping {
                        continue;
                    }
                    Self::end_arguments(state, false, delta);
                    state.blanks.clear();
                    state.has_text = false;
                    let id = id.unwrap_or_else(|| (self.call_id)(state.calls));
                    delta.calls.push(CallDelta {
                        index: state.calls,
                        start: Some((id, name)),
                        arguments: String::new(),
                    });
                    state.calls = state.calls.saturating_add(1);
                }
                Event::ToolCallArguments(_) | Event::ToolCallEnd if state.dropping => {}
                Event::ToolCallEnd => {
                    Self::end_arguments(state, true, delta);
                    state.complete = state.complete.saturating_add(1);
                }
                // White space before a call is no text, though nothing of the call is told.
                Event::ToolCallCut => state.blanks.clear(),
                Event::ToolCallArguments(text) if state.arguments == arguments::State::Verbatim => {
                    Self::push_arguments(state, text, delta);
                }
                Event::ToolCallArguments(text) => {
                    let mut decided = String::new();
                    state.arguments.push(&text, &mut decided);
                    Self::push_arguments(state, decided, delta);
                }
            }
        }
    }

    fn push_arguments(state: &State, text: String, delta: &mut Delta) {
        if text.is_empty() {
            return;
        }
        let index = state.calls.saturating_sub(1);
        match delta.calls.last_mut() {
            Some(call) if call.index == index && call.arguments.is_empty() => call.arguments = text,
            Some(call) if call.index == index => call.arguments.push_str(&text),
            _ => delta.calls.push(CallDelta { index, start: None, arguments: text }),
        }
    }

    /// The call under way is complete, or was cut.
    fn end_arguments(state: &mut State, complete: bool, delta: &mut Delta) {
        let mut held = String::new();
        state.arguments.finish(complete, &mut held);
        Self::push_arguments(state, held, delta);
    }

    /// The message ends: held white space goes out unless it stood around calls.
    pub fn finish(state: &mut State, delta: &mut Delta) {
        Self::end_arguments(state, false, delta);
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
    pub fn into_delta(self, role: bool) -> StreamDelta {
        StreamDelta {
            role: role.then_some("assistant"),
            reasoning: Text(self.reasoning),
            content: Text(self.content),
            tool_calls: self.calls.into_iter().flat_map(CallDelta::into_delta).collect(),
        }
    }

    /// The whole message. `forced`: the request forced a call, whose message has an empty content as in vLLM.
    #[must_use]
    pub fn into_message(self, forced: bool) -> Message {
        let mut tool_calls: Vec<Call> = Vec::new();
        for call in self.calls {
            match (call.start, tool_calls.last_mut()) {
                (Some((id, name)), _) => tool_calls.push(Call {
                    id: Some(id),
                    r#type: Some("function"),
                    index: None,
                    function: Function { name: Some(name), arguments: Some(Text(call.arguments)) },
                }),
                (None, Some(Call { function: Function { arguments: Some(arguments), .. }, .. })) => {
                    arguments.0.push_str(&call.arguments);
                }
                (None, _) => {}
            }
        }
        let empty = self.content.is_empty() && (!tool_calls.is_empty() || !self.reasoning.is_empty());
        let content =
            if empty && (tool_calls.is_empty() || !forced) { None } else { Some(Text(self.content)) };
        let reasoning = Some(Text(self.reasoning)).filter(|text| !text.is_empty());
        Message { role: "assistant", content, tool_calls, reasoning, ..Message::default() }
    }
}

impl CallDelta {
    /// As vLLM: the name in one entry, arguments in another.
    fn into_delta(self) -> impl Iterator<Item = Call> {
        let index = Some(self.index);
        let start = self.start.map(|(id, name)| Call {
            id: Some(id),
            r#type: Some("function"),
            index,
            function: Function { name: Some(name), arguments: None },
        });
        let arguments = Some(self.arguments).filter(|text| !text.is_empty()).map(|text| Call {
            index,
            function: Function { name: None, arguments: Some(Text(text)) },
            ..Call::default()
        });
        start.into_iter().chain(arguments)
    }
}

/// A delta as it is written: what is empty is left out.
#[derive(Debug, Serialize)]
pub struct StreamDelta {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    #[serde(skip_serializing_if = "Text::is_empty")]
    reasoning: Text,
    #[serde(skip_serializing_if = "Text::is_empty")]
    content: Text,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call>,
}

/// A whole message as it is written.
#[derive(Debug, Default, Serialize)]
pub struct Message {
    role: &'static str,
    content: Option<Text>,
    refusal: (),
    annotations: (),
    audio: (),
    function_call: (),
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call>,
    reasoning: Option<Text>,
}

/// A tool call, or a part of one, as it is written.
#[derive(Debug, Default, Serialize)]
struct Call {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    r#type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<u32>,
    function: Function,
}

#[derive(Debug, Default, Serialize)]
struct Function {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<Text>,
}
