//! Bodies for the render endpoints: members of requests with values that mostly fit.

use arbitrary::Arbitrary;
use serde_json::{Value, json};

use crate::output::Json;

/// Members that the endpoints read.
const KEYS: &[&str] = &[
    "messages",
    "prompt",
    "input",
    "tools",
    "tool_choice",
    "stop",
    "n",
    "temperature",
    "top_p",
    "top_k",
    "seed",
    "logprobs",
    "top_logprobs",
    "prompt_logprobs",
    "max_tokens",
    "max_completion_tokens",
    "min_tokens",
    "logit_bias",
    "response_format",
    "structured_outputs",
    "chat_template_kwargs",
    "add_generation_prompt",
    "continue_final_message",
    "add_special_tokens",
    "return_assistant_tokens_mask",
    "truncate_prompt_tokens",
    "documents",
    "echo",
    "suffix",
    "stream",
    "stream_options",
    "request_id",
    "system",
    "instructions",
    "text",
    "reasoning",
    "reasoning_effort",
    "thinking",
    "stop_sequences",
    "tokens",
    "bad_words",
    "allowed_token_ids",
    "cache_salt",
    "priority",
    "kv_transfer_params",
    "user",
    "metadata",
    "model",
];

#[derive(Debug, Arbitrary)]
enum Content<'a> {
    Text(&'a str),
    Parts(Vec<&'a str>),
    Odd(Json),
}

#[derive(Debug, Arbitrary)]
enum Role {
    System,
    User,
    Assistant,
    Tool,
}

#[derive(Debug, Arbitrary)]
struct Message<'a> {
    role: Role,
    content: Content<'a>,
    arguments: Option<&'a str>,
    extra: Option<(u8, Json)>,
}

impl Message<'_> {
    fn value(&self) -> Value {
        let role = match self.role {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
        };
        let content = match &self.content {
            Content::Text(text) => json!(text),
            Content::Parts(parts) => parts.iter().map(|text| json!({"type": "text", "text": text})).collect(),
            Content::Odd(json) => json.value(),
        };
        let mut message = json!({"role": role, "content": content});
        if let Some(arguments) = self.arguments {
            let function = json!({"name": "get", "arguments": arguments});
            message["tool_calls"] = json!([{"id": "1", "type": "function", "function": function}]);
        }
        if let Some((key, value)) = &self.extra {
            let keys =
                ["name", "tool_call_id", "reasoning", "type", "tool_calls", "refusal", "content", "call_id"];
            message[keys[usize::from(*key) % keys.len()]] = value.value();
        }
        message
    }
}

/// The body of a request.
#[derive(Debug, Arbitrary)]
pub enum Body<'a> {
    Raw(&'a [u8]),
    Made(Made<'a>),
}

/// A body that mostly fits.
#[derive(Debug, Arbitrary)]
pub struct Made<'a> {
    messages: Vec<Message<'a>>,
    text: &'a str,
    mask: bool,
    continued: bool,
    members: Vec<(u8, Json)>,
}

impl Body<'_> {
    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let made = match self {
            Self::Raw(bytes) => return bytes.to_vec(),
            Self::Made(made) => made,
        };
        let messages: Value = made.messages.iter().map(Message::value).collect();
        let mut body = json!({
            "input": messages.clone(), "messages": messages, "prompt": made.text, "max_tokens": 16,
            "return_assistant_tokens_mask": made.mask, "continue_final_message": made.continued,
            "add_generation_prompt": !made.continued,
        });
        for (key, value) in made.members.iter().take(8) {
            body[KEYS[usize::from(*key) % KEYS.len()]] = value.value();
        }
        body.to_string().into_bytes()
    }
}
