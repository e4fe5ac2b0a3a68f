//! The chat completions request.

use crate::generation::Generation;
use crate::{Bounds, Error, Fields, Json, Result, ServingConfig, bounds, fields};

/// A chat request, checked. The messages stay JSON: the renderer brings them into the template's form.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "the wire has these flags")]
pub struct ChatRequest<'v, 'a> {
    pub messages: &'v [Json<'a>],
    pub generation: Generation,
    pub max_completion_tokens: Option<i64>,
    pub logprobs: bool,
    pub top_logprobs: Option<i64>,
    pub tools: Option<&'v [Json<'a>]>,
    pub tool_choice: ToolChoice,
    pub reasoning_effort: Option<String>,
    pub include_reasoning: bool,
    pub parallel_tool_calls: bool,
    pub echo: bool,
    pub add_generation_prompt: bool,
    pub continue_final_message: bool,
    pub documents: Option<&'v Json<'a>>,
    pub chat_template: Option<&'v str>,
    pub chat_template_kwargs: Option<&'v Json<'a>>,
    pub return_assistant_tokens_mask: bool,
}

/// Which tool the model may or must call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolChoice {
    /// No call is looked for.
    None,
    Auto,
    Required,
    /// The function that must be called.
    Named(String),
}

const REASONING_EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

impl<'v, 'a> ChatRequest<'v, 'a> {
    /// Reads a chat request. `from` is the body, or the `chat_request` inside one.
    ///
    /// # Errors
    /// A validation error on the first field at fault; a bad-request error where fields contradict each other.
    pub fn parse(from: &Fields<'v, 'a>, config: &ServingConfig) -> Result<Self> {
        for (key, limit) in [("messages", config.bounds.messages), ("tools", config.bounds.tools)] {
            let count = if let Some(Json::Array(items)) = from.some(key) { items.len() } else { 0 };
            bounds::count(&from.path(key), count, limit)?;
        }
        check_tools_and_choice(from)?;
        let messages = fields::list(from.required("messages")?, &from.path("messages"))?;
        for (index, message) in messages.iter().enumerate() {
            crate::message::check(message, index, from, &config.bounds)?;
        }
        let generation = Generation::parse(from, false, &config.bounds)?;
        let tools = from.list("tools")?.filter(|tools| !tools.is_empty());
        for (index, tool) in tools.unwrap_or_default().iter().enumerate() {
            check_tool(tool, from.path(&format!("tools.{index}")), &config.bounds)?;
        }
        let reasoning_effort = from.string("reasoning_effort")?;
        if let Some(effort) = reasoning_effort
            && !REASONING_EFFORTS.contains(&effort)
        {
            let message = format!("reasoning_effort must be one of {}", REASONING_EFFORTS.join(", "));
            return Err(Error::validation(&from.path("reasoning_effort"), message));
        }
        let request = Self {
            messages,
            max_completion_tokens: from.integer("max_completion_tokens")?,
            logprobs: from.boolean("logprobs")?.unwrap_or(false),
            top_logprobs: from.integer("top_logprobs")?,
            tools,
            tool_choice: tool_choice(from, tools.is_some())?,
            reasoning_effort: reasoning_effort.map(str::to_owned),
            include_reasoning: from.flag("include_reasoning", true)?,
            parallel_tool_calls: from.boolean("parallel_tool_calls")?.unwrap_or(true),
            echo: from.flag("echo", false)?,
            add_generation_prompt: from.flag("add_generation_prompt", true)?,
            continue_final_message: from.flag("continue_final_message", false)?,
            documents: from.list("documents")?.and_then(|_| from.some("documents")),
            chat_template: from.string("chat_template")?,
            chat_template_kwargs: from.object("chat_template_kwargs")?.map(|found| found.value()),
            return_assistant_tokens_mask: from.boolean("return_assistant_tokens_mask")?.unwrap_or(false),
            generation,
        };
        request.check(from)?;
        Ok(request)
    }

    fn check(&self, from: &Fields<'_, '_>) -> Result<()> {
        if self.top_logprobs.is_some_and(|count| count > 0) && !self.logprobs {
            let message = "top_logprobs needs logprobs to be true";
            return Err(Error::bad_parameter("top_logprobs", message));
        }
        if let Some(count) = self.top_logprobs.filter(|count| *count < -1) {
            let message = format!("top_logprobs must be at least 0, or -1 for all, got {count}");
            return Err(Error::bad_parameter("top_logprobs", message));
        }
        if self.continue_final_message && self.add_generation_prompt {
            let message = "continue_final_message and add_generation_prompt cannot both be true";
            return Err(Error::bad_request(message));
        }
        if from.object("mm_processor_kwargs")?.is_some() {
            let message = "mm_processor_kwargs of a request are not trusted by this server";
            return Err(Error::bad_parameter("mm_processor_kwargs", message));
        }
        Ok(())
    }

    /// `max_completion_tokens`, or the older `max_tokens`.
    #[must_use]
    pub fn max_tokens(&self) -> Option<i64> {
        self.max_completion_tokens.or(self.generation.max_tokens)
    }
}

/// What the reference checks before it looks at any type.
fn check_tools_and_choice(from: &Fields<'_, '_>) -> Result<()> {
    let Some(choice) = from.some("tool_choice") else { return Ok(()) };
    // An empty list is no list: there is nothing to call, unless a tool of it is named.
    let empty = matches!(from.some("tools"), Some(Json::Array(tools)) if tools.is_empty());
    if empty && !matches!(choice, Json::Object(_)) {
        return Ok(());
    }
    if matches!(choice, Json::Str(word) if word == "none") {
        return Ok(());
    }
    if from.some("tools").is_none() {
        return Err(Error::bad_parameter("tool_choice", "tool_choice needs tools"));
    }
    match choice {
        Json::Str(word) if word == "auto" || word == "required" => Ok(()),
        Json::Object(_) => check_named_choice(from, choice),
        other => {
            let shown = crate::json::preview(other);
            let message =
                format!("tool_choice must be \"none\", \"auto\", \"required\" or a named tool, not {shown}");
            Err(Error::bad_parameter("tool_choice", message))
        }
    }
}

fn check_named_choice(from: &Fields<'_, '_>, choice: &Json<'_>) -> Result<()> {
    let name = named(choice).ok_or_else(|| {
        let message =
            "tool_choice must name its tool as {\"type\": \"function\", \"function\": {\"name\": …}}";
        Error::bad_parameter("tool_choice", message)
    })?;
    let tools = match from.some("tools") {
        Some(Json::Array(tools)) => tools.as_slice(),
        _ => &[],
    };
    if tools.iter().any(|tool| tool_name(tool) == Some(name)) {
        return Ok(());
    }
    let message = format!("tool_choice names `{}`, which is not one of the tools", crate::json::clip(name));
    Err(Error::bad_parameter("tool_choice", message))
}

fn named<'v>(choice: &'v Json<'_>) -> Option<&'v str> {
    crate::json::get(crate::json::get(choice, "function")?, "name").and_then(crate::json::as_str)
}

/// The name of a tool of the request.
#[must_use]
pub fn tool_name<'v>(tool: &'v Json<'_>) -> Option<&'v str> {
    crate::json::get(crate::json::get(tool, "function")?, "name").and_then(crate::json::as_str)
}

fn tool_choice(from: &Fields<'_, '_>, tools: bool) -> Result<ToolChoice> {
    Ok(match from.some("tool_choice") {
        None if tools => ToolChoice::Auto,
        Some(Json::Str(_)) if !tools => ToolChoice::None,
        Some(Json::Str(word)) if word == "auto" => ToolChoice::Auto,
        Some(Json::Str(word)) if word == "required" => ToolChoice::Required,
        None | Some(Json::Str(_)) => ToolChoice::None,
        Some(choice) => match named(choice) {
            Some(name) => ToolChoice::Named(name.to_owned()),
            None => return Err(fields::wrong(&from.path("tool_choice"), "a named tool", choice)),
        },
    })
}

fn check_tool(tool: &Json<'_>, path: String, limits: &Bounds) -> Result<()> {
    let tool = Fields::of(tool, path)?;
    if let Some(kind) = tool.raw("type")
        && crate::json::as_str(kind) != Some("function")
    {
        return Err(fields::wrong(&tool.path("type"), "\"function\"", kind));
    }
    let function = Fields::of(tool.required("function")?, tool.path("function"))?;
    let name = fields::string(function.required("name")?, &function.path("name"))?;
    bounds::string_bytes(&function.path("name"), name, limits)?;
    function.string("description")?;
    function.object("parameters")?;
    function.boolean("strict")?;
    Ok(())
}
