//! What the client's request says about the answer.

use std::collections::BTreeSet;
use std::sync::Arc;

use dragoman_protocol::generation::Generation;
use dragoman_protocol::{
    ChatRequest, CompletionRequest, Error, Fields, Json, Result, SamplingParams, ServingConfig, ToolChoice,
    json, message,
};
use serde_json::{Map, Value};

use crate::parse::{Build, Context, Tool};
use crate::reasoning::AnyReasoningParser;
use crate::stop::Stops;
use crate::tool::{AnyToolParser, Forced, Form};

/// The parsers that the server was started with.
#[derive(Clone, Default)]
pub struct Parsers {
    pub reasoning: Option<Arc<dyn AnyReasoningParser>>,
    /// The same, where calls are looked for: their openers end a thought.
    pub reasoning_before_calls: Option<Arc<dyn AnyReasoningParser>>,
    pub tool: Option<Arc<dyn AnyToolParser>>,
    /// `--enable-auto-tool-choice`.
    pub auto: bool,
}

/// How one request's output is derendered.
#[expect(clippy::struct_excessive_bools, reason = "the wire has these flags")]
pub struct Options {
    pub reasoning: Option<Arc<dyn AnyReasoningParser>>,
    pub tool: Option<Arc<dyn AnyToolParser>>,
    /// The server's parser of tool calls, where the request looks for none: its markers are text then.
    pub unused: Option<Arc<dyn AnyToolParser>>,
    pub context: Context,
    pub stops: Stops,
    /// Ids that end a generation and are no part of its text.
    pub stop_ids: BTreeSet<u32>,
    pub include_stop: bool,
    pub min_tokens: u32,
    pub skip_special_tokens: bool,
    pub include_reasoning: bool,
    pub parallel: bool,
    pub choice: ToolChoice,
    pub return_token_ids: bool,
    /// `return_tokens_as_token_ids`: how log-probabilities name tokens.
    pub tokens_as_ids: bool,
    pub return_weight_versions: bool,
    /// `top_logprobs` of a chat; none where all alternatives are shown.
    pub top_logprobs: Option<usize>,
    pub echo: bool,
    /// The text of the last message, where a chat is echoed and goes on with it.
    pub echoed: String,
    /// Whether the prompt alone is asked for (`echo` with `max_tokens` 0): the token that an engine makes at the least
    /// is not shown.
    pub prompt_only: bool,
    /// Whether the client's request came along, and so parsers could run.
    pub requested: bool,
}

impl Options {
    /// Without the client's request: plain text, stopped at the model's own stop tokens.
    #[must_use]
    pub fn plain(config: &ServingConfig) -> Self {
        Self {
            reasoning: None,
            tool: None,
            unused: None,
            context: Context::default(),
            stops: Stops::default(),
            stop_ids: config.eos_token_ids.iter().copied().collect(),
            include_stop: false,
            min_tokens: 0,
            skip_special_tokens: true,
            include_reasoning: true,
            parallel: true,
            choice: ToolChoice::None,
            return_token_ids: false,
            tokens_as_ids: false,
            return_weight_versions: false,
            top_logprobs: None,
            echo: false,
            echoed: String::new(),
            prompt_only: false,
            requested: false,
        }
    }

    /// From a chat request.
    ///
    /// # Errors
    /// What [`ChatRequest::parse`] refuses.
    pub fn chat(
        request: &Fields<'_, '_>,
        parsers: &Parsers,
        build: Build<'_>,
        config: &ServingConfig,
    ) -> Result<Self> {
        let chat = ChatRequest::parse(request, config)?;
        let native = parsers.tool.clone().filter(|_| chat.tools.is_some());
        let tool: Option<Arc<dyn AnyToolParser>> = match &chat.tool_choice {
            ToolChoice::None => None,
            ToolChoice::Auto => native.filter(|_| parsers.auto),
            ToolChoice::Required => native.map(|native| forced(native, Form::Required, build)),
            ToolChoice::Named(name) => native.map(|native| forced(native, Form::Named(name.clone()), build)),
        };
        let reasoning = if tool.is_some() { &parsers.reasoning_before_calls } else { &parsers.reasoning };
        Ok(Self {
            reasoning: reasoning.clone(),
            unused: parsers.tool.clone().filter(|_| tool.is_none()),
            tool,
            context: context(&chat, config),
            include_reasoning: chat.include_reasoning,
            parallel: chat.parallel_tool_calls,
            echoed: echoed(&chat),
            top_logprobs: chat.top_logprobs.and_then(|count| usize::try_from(count).ok()),
            choice: chat.tool_choice.clone(),
            ..Self::generation(&chat.generation, config)?
        })
    }

    /// From a completions request.
    ///
    /// # Errors
    /// What [`CompletionRequest::parse`] refuses.
    pub fn completions(request: &Fields<'_, '_>, config: &ServingConfig) -> Result<Self> {
        let completion = CompletionRequest::parse(request, config)?;
        let prompt_only = completion.echo && completion.generation.max_tokens == Some(0);
        Ok(Self { echo: completion.echo, prompt_only, ..Self::generation(&completion.generation, config)? })
    }

    /// From the sampling parameters of a generate request: what decides where its stop strings are.
    #[must_use]
    pub fn sampling(params: &SamplingParams, config: &ServingConfig) -> Self {
        Self {
            stops: Stops::new(params.stop.clone(), params.include_stop_str_in_output),
            stop_ids: stop_ids(&params.stop_token_ids, params.ignore_eos, config),
            include_stop: params.include_stop_str_in_output,
            min_tokens: u32::try_from(params.min_tokens).unwrap_or(0),
            skip_special_tokens: params.skip_special_tokens,
            ..Self::plain(config)
        }
    }

    fn generation(generation: &Generation, config: &ServingConfig) -> Result<Self> {
        if generation.stop.iter().any(String::is_empty) {
            return Err(Error::bad_parameter("stop", "stop cannot hold an empty string"));
        }
        Ok(Self {
            stops: Stops::new(generation.stop.clone(), generation.include_stop_str_in_output),
            stop_ids: stop_ids(&generation.stop_token_ids, generation.ignore_eos, config),
            include_stop: generation.include_stop_str_in_output,
            min_tokens: u32::try_from(generation.min_tokens).unwrap_or(0),
            skip_special_tokens: generation.skip_special_tokens,
            return_token_ids: generation.return_token_ids.unwrap_or(false),
            tokens_as_ids: generation.return_tokens_as_token_ids.unwrap_or(false),
            return_weight_versions: generation.return_weight_versions,
            requested: true,
            ..Self::plain(config)
        })
    }

    /// Whether some parser reads the output.
    #[must_use]
    pub fn is_parsed(&self) -> bool {
        self.reasoning.is_some() || self.tool.is_some()
    }

    /// Whether the text of each token is read on its own: stop strings and hidden reasoning are settled by token.
    /// Otherwise the text of a chunk is read at once.
    #[must_use]
    pub fn settles_each_token(&self) -> bool {
        !self.stops.is_empty() || !self.include_reasoning
    }

    /// Whether a special token is text: where no calls are looked for, a call that was written is text, all of it.
    #[must_use]
    pub fn shows(&self, id: u32) -> bool {
        !self.skip_special_tokens || self.unused.as_ref().is_some_and(|parser| parser.is_marker(id))
    }

    /// Whether the request forced a call, and some parser looks for it.
    #[must_use]
    pub fn is_forced(&self) -> bool {
        self.tool.is_some() && matches!(self.choice, ToolChoice::Required | ToolChoice::Named(_))
    }

    /// What a stream's state is bound to, as bytes: all that the meaning of a state depends on.
    #[must_use]
    pub fn binding(&self) -> Vec<u8> {
        let tools: Vec<&str> = self.context.tools.iter().map(|tool| tool.name.as_str()).collect();
        let binding = (
            (tools, self.stops.strings(), &self.stop_ids, self.include_stop),
            (self.min_tokens, self.skip_special_tokens, self.include_reasoning, self.parallel),
            (self.reasoning.is_some(), self.tool.is_some(), format!("{:?}", self.choice), self.echo),
            (&self.echoed, self.prompt_only),
        );
        postcard::to_allocvec(&binding).unwrap_or_default()
    }
}

/// The text in front of an echoed answer: that of the last message, where the answer has the same role. Without a
/// generation prompt it has the role of that message.
fn echoed(chat: &ChatRequest<'_, '_>) -> String {
    let Some(last) = chat.messages.last().filter(|_| chat.echo) else { return String::new() };
    if chat.add_generation_prompt && message::role(last) != "assistant" {
        return String::new();
    }
    match json::get(last, "content") {
        Some(Json::Str(text)) => text.to_string(),
        Some(Json::Array(parts)) => {
            let texts = parts.iter().filter_map(|part| json::get(part, "text").and_then(json::as_str));
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

fn stop_ids(named: &[i64], ignore_eos: bool, config: &ServingConfig) -> BTreeSet<u32> {
    let mut ids: BTreeSet<u32> = named.iter().filter_map(|&id| u32::try_from(id).ok()).collect();
    if !ignore_eos {
        ids.extend(&config.eos_token_ids);
    }
    ids
}

fn forced(native: Arc<dyn AnyToolParser>, form: Form, build: Build<'_>) -> Arc<dyn AnyToolParser> {
    if native.is_native_only() {
        return native;
    }
    Arc::new(Forced::new(native, form, build))
}

fn context(chat: &ChatRequest<'_, '_>, config: &ServingConfig) -> Context {
    let tool = |tool: &Json<'_>| {
        let function = json::get(tool, "function")?;
        let name = json::get(function, "name").and_then(json::as_str)?.to_owned();
        let parameters = json::get(function, "parameters").map_or(Value::Null, to_value);
        Some(Tool { name, parameters })
    };
    let mut arguments = config.default_chat_template_kwargs.clone();
    if let Some(Value::Object(given)) = chat.chat_template_kwargs.map(to_value) {
        arguments.extend(given);
    }
    let calls = chat.messages.iter().filter_map(|message| match json::get(message, "tool_calls")? {
        Json::Array(calls) => Some(calls.len()),
        _ => None,
    });
    Context {
        tools: chat.tools.unwrap_or_default().iter().filter_map(tool).collect(),
        history_tool_calls: u32::try_from(calls.sum::<usize>()).unwrap_or(u32::MAX),
        thinking: thinking(&arguments),
        template_arguments: arguments,
    }
}

fn thinking(arguments: &Map<String, Value>) -> Option<bool> {
    ["enable_thinking", "thinking"].iter().find_map(|key| arguments.get(*key)?.as_bool())
}

/// A JSON value of a body as one of its own.
pub(crate) fn to_value(value: &Json<'_>) -> Value {
    match value {
        Json::Null => Value::Null,
        Json::Bool(flag) => Value::Bool(*flag),
        Json::Int(number) => Value::from(*number),
        Json::BigInt(_) => serde_json::to_value(json::Serialized(value)).unwrap_or_default(),
        Json::Float(number) => Value::from(*number),
        Json::Str(text) => Value::String(text.to_string()),
        Json::Array(items) => items.iter().map(to_value).collect(),
        // A repeated key keeps its place and takes the last value here too.
        Json::Object(members) => {
            members.iter().map(|(key, value)| (key.to_string(), to_value(value))).collect()
        }
    }
}
