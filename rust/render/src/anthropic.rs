//! Anthropic Messages requests, converted to chat requests.

use dragoman_protocol::{Error, Fields, Json, Result, fields, json};

use crate::Renderer;
use crate::chat::Style;
use crate::convert::{Members, function, json_schema, message, named_choice, text_part, tool_call};

const MESSAGES: Style = Style { id_prefix: "chatcmpl-", limit_max_tokens: false, ..crate::chat::CHAT };

/// Fields that mean the same in a chat request.
const SAME: [(&str, &str); 12] = [
    ("model", "model"),
    ("max_tokens", "max_tokens"),
    ("stop_sequences", "stop"),
    ("stream", "stream"),
    ("temperature", "temperature"),
    ("top_p", "top_p"),
    ("top_k", "top_k"),
    ("cache_salt", "cache_salt"),
    ("kv_transfer_params", "kv_transfer_params"),
    ("ec_transfer_params", "ec_transfer_params"),
    ("vllm_xargs", "vllm_xargs"),
    ("chat_template_kwargs", "chat_template_kwargs"),
];

impl Renderer {
    /// Renders the body of `/v1/messages/render`; `request_id` is the header's.
    ///
    /// # Errors
    /// Everything that a client can do wrong.
    pub fn anthropic_messages(&self, body: &[u8], request_id: Option<&str>) -> Result<Vec<u8>> {
        let value = json::parse(body, &self.config.bounds)?;
        let chat = to_chat(&Fields::of_body(&value)?)?;
        json::to_bytes(&self.chat_value(&Fields::of_body(&chat)?, request_id, &MESSAGES)?)
    }
}

fn to_chat<'a>(from: &Fields<'_, 'a>) -> Result<Json<'a>> {
    fields::string(from.required("model")?, "model")?;
    let sources = fields::list(from.required("messages")?, "messages")?;
    let max_tokens = fields::integer(from.required("max_tokens")?, "max_tokens")?;
    let mut chat: Members<'a> = Vec::new();
    for (key, name) in SAME {
        if let Some(value) = from.some(key) {
            chat.push((name.into(), value.clone()));
        }
    }
    let mut messages = Vec::with_capacity(sources.len() + 1);
    if let Some(system) = from.some("system") {
        messages.push(message("system", vec![("content".into(), system_text(system)?)]));
    }
    for (index, source) in sources.iter().enumerate() {
        turn(&Fields::of(source, format!("messages.{index}"))?, &mut messages)?;
    }
    chat.push(("messages".into(), json::array(messages)));
    if from.boolean("stream")?.unwrap_or(false) {
        let on = |key: &'static str| (key.into(), Json::Bool(true));
        chat.push((
            "stream_options".into(),
            json::object(vec![on("include_usage"), on("continuous_usage_stats")]),
        ));
    }
    thinking(from, max_tokens, &mut chat)?;
    if let Some(tools) = from.list("tools")? {
        let tools = tools.iter().enumerate().map(|(index, tool)| {
            let tool = Fields::of(tool, format!("tools.{index}"))?;
            let name = fields::string(tool.required("name")?, &tool.path("name"))?;
            let schema = Fields::of(tool.required("input_schema")?, tool.path("input_schema"))?;
            Ok(function(name, tool.some("description"), Some(schema.value()), tool.some("strict")))
        });
        chat.push(("tools".into(), json::array(tools.collect::<Result<_>>()?)));
    }
    if let Some(choice) = from.object("tool_choice")? {
        tool_choice(&choice, &mut chat)?;
    }
    Ok(json::object(chat))
}

fn system_text<'a>(system: &Json<'a>) -> Result<Json<'a>> {
    let Json::Array(blocks) = system else {
        fields::string(system, "system")?;
        return Ok(system.clone());
    };
    let mut text = String::new();
    for (index, block) in blocks.iter().enumerate() {
        let block = Fields::of(block, format!("system.{index}"))?;
        if kind(&block)? == "text" {
            text.push_str(block.string("text")?.unwrap_or_default());
        }
    }
    Ok(Json::Str(text.into()))
}

fn kind<'v>(block: &Fields<'v, '_>) -> Result<&'v str> {
    fields::string(block.required("type")?, &block.path("type"))
}

/// One message: its text and calls as one chat message, each tool result as one before it.
fn turn<'a>(from: &Fields<'_, 'a>, messages: &mut Vec<Json<'a>>) -> Result<()> {
    let role = fields::string(from.required("role")?, &from.path("role"))?;
    if !["user", "assistant", "system"].contains(&role) {
        let message = format!("{} must be \"user\", \"assistant\" or \"system\"", from.path("role"));
        return Err(Error::validation(&from.path("role"), message));
    }
    let role: &'static str = if role == "user" {
        "user"
    } else if role == "assistant" {
        "assistant"
    } else {
        "system"
    };
    let blocks = match from.required("content")? {
        text @ Json::Str(_) => {
            messages.push(message(role, vec![("content".into(), text.clone())]));
            return Ok(());
        }
        Json::Array(blocks) => blocks,
        other => return Err(fields::wrong(&from.path("content"), "a string or a list of blocks", other)),
    };
    let (mut parts, mut calls, mut reasoning) = (Vec::new(), Vec::new(), String::new());
    for (index, block) in blocks.iter().enumerate() {
        let block = Fields::of(block, from.path(&format!("content.{index}")))?;
        match kind(&block)? {
            "text" => parts.push(text_part(block.string("text")?.unwrap_or_default().to_owned())),
            "thinking" => reasoning.push_str(block.string("thinking")?.unwrap_or_default()),
            "redacted_thinking" => {}
            "tool_use" => calls.push(call(&block)?),
            "tool_result" => messages.push(tool_result(&block)?),
            "image" => parts.push(json::object(vec![("type".into(), Json::Str("image_url".into()))])),
            other => {
                let message =
                    format!("{} is a block of an unknown kind: {}", block.path("type"), json::clip(other));
                return Err(Error::validation(&block.path("type"), message));
            }
        }
    }
    if parts.is_empty() && calls.is_empty() && reasoning.is_empty() && !blocks.is_empty() {
        return Ok(());
    }
    let mut members: Members<'a> = Vec::new();
    if !parts.is_empty() || calls.is_empty() {
        members.push(("content".into(), json::array(parts)));
    }
    if !calls.is_empty() {
        members.push(("tool_calls".into(), json::array(calls)));
    }
    if !reasoning.is_empty() {
        members.push(("reasoning".into(), Json::Str(reasoning.into())));
    }
    messages.push(message(role, members));
    Ok(())
}

fn call<'a>(block: &Fields<'_, 'a>) -> Result<Json<'a>> {
    let name = block.string("name")?.unwrap_or_default().to_owned();
    let arguments =
        block.object("input")?.map_or_else(|| json::object(Vec::new()), |found| found.value().clone());
    Ok(tool_call(block.string("id")?.unwrap_or_default().to_owned(), name, arguments))
}

fn tool_result<'a>(block: &Fields<'_, 'a>) -> Result<Json<'a>> {
    let id = block.string("tool_use_id")?.or(block.string("id")?).unwrap_or_default();
    let content = match block.some("content") {
        None => Json::Str("".into()),
        Some(Json::Array(parts)) => {
            let texts = parts.iter().filter_map(|part| json::get(part, "text").and_then(json::as_str));
            Json::Str(texts.collect::<Vec<_>>().join("\n").into())
        }
        Some(text) => text.clone(),
    };
    let id = ("tool_call_id".into(), Json::Str(id.to_owned().into()));
    Ok(message("tool", vec![("content".into(), content), id]))
}

/// `thinking` and `output_config`.
fn thinking<'a>(from: &Fields<'_, 'a>, max_tokens: i64, chat: &mut Members<'a>) -> Result<()> {
    let mut effort = None;
    if let Some(thinking) = from.object("thinking")? {
        match kind(&thinking)? {
            "disabled" => effort = Some("none".to_owned()),
            "enabled" => {
                let budget = thinking.required("budget_tokens")?;
                let budget = fields::integer(budget, &thinking.path("budget_tokens"))?;
                if budget < 1024 {
                    let message = format!("thinking.budget_tokens must be at least 1024, got {budget}");
                    return Err(Error::validation(&thinking.path("budget_tokens"), message));
                }
                if budget >= max_tokens {
                    let message = format!(
                        "thinking.budget_tokens ({budget}) must be less than max_tokens ({max_tokens})"
                    );
                    return Err(Error::validation("", message));
                }
                chat.push(("thinking_token_budget".into(), Json::Int(budget)));
            }
            "adaptive" => {}
            other => {
                let message = format!(
                    "thinking.type must be \"enabled\", \"disabled\" or \"adaptive\", not \"{}\"",
                    json::clip(other)
                );
                return Err(Error::validation("thinking", message));
            }
        }
    }
    if let Some(output) = from.object("output_config")? {
        effort = effort.or(output.string("effort")?.map(str::to_owned));
        if let Some(schema) = output.object("format")?.and_then(|format| format.some("schema")) {
            chat.push(("response_format".into(), json_schema("output", schema)));
        }
    }
    chat.extend(effort.map(|effort| ("reasoning_effort".into(), Json::Str(effort.into()))));
    Ok(())
}

fn tool_choice<'a>(choice: &Fields<'_, 'a>, chat: &mut Members<'a>) -> Result<()> {
    let chosen = match kind(choice)? {
        "auto" => Json::Str("auto".into()),
        "any" => Json::Str("required".into()),
        "none" => Json::Str("none".into()),
        "tool" => {
            let name = fields::string(choice.required("name")?, &choice.path("name"))?;
            named_choice(name.to_owned())
        }
        other => {
            let message = format!("tool_choice.type is unknown: {}", json::clip(other));
            return Err(Error::validation(&choice.path("type"), message));
        }
    };
    chat.push(("tool_choice".into(), chosen));
    if choice.boolean("disable_parallel_tool_use")?.unwrap_or(false) {
        chat.push(("parallel_tool_calls".into(), Json::Bool(false)));
    }
    Ok(())
}
