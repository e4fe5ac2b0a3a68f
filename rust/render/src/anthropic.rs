//! Anthropic Messages requests, converted to chat requests.

use std::borrow::Cow;

use dragoman_protocol::{Error, Fields, Json, Result, bounds, fields, json};

use crate::Renderer;
use crate::chat::Style;
use crate::convert::{Members, function, json_schema, message, named_choice, text_part, tool_call};
use crate::origins::Origins;

const MESSAGES: Style = Style { id_prefix: "chatcmpl-", limit_max_tokens: false, ..crate::chat::CHAT };

/// Fields that mean the same in a chat request.
const SAME: [(&str, &str); 14] = [
    ("model", "model"),
    ("max_tokens", "max_tokens"),
    ("stop_sequences", "stop"),
    ("stream", "stream"),
    ("temperature", "temperature"),
    ("top_p", "top_p"),
    ("top_k", "top_k"),
    ("min_tokens", "min_tokens"),
    ("watermarking", "watermarking"),
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
        let from = Fields::of_body(&value)?;
        for (list, limit) in [("messages", self.config.bounds.messages), ("tools", self.config.bounds.tools)]
        {
            bounds::count(list, from.list(list)?.map_or(0, <[_]>::len), limit)?;
        }
        let chat = to_chat(&from, &mut Origins::default())?;
        let request = self.chat_value(&Fields::of_body(&chat)?, request_id, &MESSAGES).map_err(|error| {
            let mut origins = Origins::default();
            let converted = to_chat(&from, &mut origins);
            converted.map_or(error.clone(), |_| origins.of_client(error))
        })?;
        json::to_bytes(&request)
    }
}

fn to_chat<'a>(from: &Fields<'_, 'a>, origins: &mut Origins) -> Result<Json<'a>> {
    fields::string(from.required("model")?, "model")?;
    let sources = fields::list(from.required("messages")?, "messages")?;
    let max_tokens = fields::integer(from.required("max_tokens")?, "max_tokens")?;
    let mut chat: Members<'a> = Vec::new();
    for (key, name) in SAME {
        if let Some(value) = from.some(key) {
            chat.push((name.into(), value.clone()));
            if key != name {
                origins.note(name, key);
            }
        }
    }
    let mut messages = Vec::with_capacity(sources.len() + 1);
    if let Some(text) = from.some("system").map(|system| system_text(system, "system")).transpose()?.flatten()
    {
        messages.push(message("system", vec![("content".into(), Json::Str(text))]));
        origins.note("messages.0", "system");
    }
    for (index, source) in sources.iter().enumerate() {
        turn(&Fields::of(source, format!("messages.{index}"))?, &mut messages, origins)?;
    }
    chat.push(("messages".into(), json::array(messages)));
    if from.boolean("stream")?.unwrap_or(false) {
        let on = |key: &'static str| (key.into(), Json::Bool(true));
        chat.push((
            "stream_options".into(),
            json::object(vec![on("include_usage"), on("continuous_usage_stats")]),
        ));
    }
    thinking(from, max_tokens, &mut chat, origins)?;
    if let Some(tools) = from.list("tools")?.filter(|tools| !tools.is_empty()) {
        let tools = tools.iter().enumerate().map(|(index, source)| tool(index, source, origins));
        chat.push(("tools".into(), json::array(tools.collect::<Result<_>>()?)));
    }
    if let Some(choice) = from.object("tool_choice")? {
        tool_choice(&choice, &mut chat)?;
    }
    Ok(json::object(chat))
}

fn tool<'a>(index: usize, source: &Json<'a>, origins: &mut Origins) -> Result<Json<'a>> {
    let tool = Fields::of(source, format!("tools.{index}"))?;
    if let Some(kind) = tool.string("type")?.filter(|kind| *kind != "custom") {
        let message = format!(
            "{} is {}: only tools of the client, with an input_schema, are supported",
            tool.path("type"),
            json::clip(kind)
        );
        return Err(Error::validation(&tool.path("type"), message));
    }
    let name = fields::string(tool.required("name")?, &tool.path("name"))?;
    let schema = Fields::of(tool.required("input_schema")?, tool.path("input_schema"))?;
    origins.note(format!("tools.{index}.function"), tool.own_path());
    origins.note(format!("tools.{index}.function.parameters"), tool.path("input_schema"));
    let mut schema = schema.value().clone();
    if let Json::Object(members) = &mut schema
        && !members.iter().any(|(key, _)| key == "type")
    {
        let mut typed = members.to_vec();
        typed.push(("type".into(), Json::Str("object".into())));
        schema = json::object(typed);
    }
    Ok(function(name, tool.some("description"), Some(&schema), tool.some("strict")))
}

/// A line that an agent puts before its system prompt, new with each request: it would spoil the prefix cache.
const BILLING: &str = "x-anthropic-billing-header";

/// The text of a system prompt or a system message; none where nothing of it is left.
fn system_text<'a>(system: &Json<'a>, path: &str) -> Result<Option<Cow<'a, str>>> {
    let kept = |text: &str| !text.is_empty() && !text.starts_with(BILLING);
    let Json::Array(blocks) = system else {
        let Json::Str(text) = system else {
            return Err(fields::wrong(path, "a string or a list of blocks", system));
        };
        return Ok(Some(text.clone()).filter(|text| kept(text)));
    };
    let mut joined = String::new();
    for (index, block) in blocks.iter().enumerate() {
        let block = Fields::of(block, format!("{path}.{index}"))?;
        match kind(&block)? {
            "text" => {
                let text = block.string("text")?.unwrap_or_default();
                joined.push_str(if kept(text) { text } else { "" });
            }
            other => return Err(unusable(&block, other)),
        }
    }
    Ok(Some(Cow::Owned(joined)).filter(|text: &Cow<'_, str>| !text.is_empty()))
}

/// The refusal of a block that stands for something else than text: what it holds would be lost.
fn unusable(block: &Fields<'_, '_>, kind: &str) -> Error {
    let path = block.path("type");
    let shown = json::clip(kind);
    Error::validation(
        &path,
        format!("{path} is {shown}: this model takes text, and such a block cannot be used here"),
    )
}

fn kind<'v>(block: &Fields<'v, '_>) -> Result<&'v str> {
    fields::string(block.required("type")?, &block.path("type"))
}

/// One message: its text and calls as one chat message, each tool result as one before it.
fn turn<'a>(from: &Fields<'_, 'a>, messages: &mut Vec<Json<'a>>, origins: &mut Origins) -> Result<()> {
    let role = fields::string(from.required("role")?, &from.path("role"))?;
    if !["user", "assistant", "system"].contains(&role) {
        let message = format!("{} must be \"user\", \"assistant\" or \"system\"", from.path("role"));
        return Err(Error::validation(&from.path("role"), message));
    }
    let role: &'static str = match role {
        "user" => "user",
        "assistant" => "assistant",
        _ => "system",
    };
    let content = from.required("content")?;
    if role == "system" {
        if let Some(text) = system_text(content, &from.path("content"))? {
            origins.note(format!("messages.{}", messages.len()), from.own_path());
            messages.push(message(role, vec![("content".into(), Json::Str(text))]));
        }
        return Ok(());
    }
    let blocks = match content {
        text @ Json::Str(_) => {
            origins.note(format!("messages.{}", messages.len()), from.own_path());
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
            "text" => match block.string("text")?.unwrap_or_default() {
                "" => {}
                text => parts.push(text_part(text.to_owned())),
            },
            "thinking" => reasoning.push_str(block.string("thinking")?.unwrap_or_default()),
            "redacted_thinking" | "tool_reference" => {}
            "tool_use" => calls.push(call(&block)?),
            "tool_result" if role == "assistant" => {
                parts.push(text_part(format!("Tool result: {}", tool_text(&block)?)));
            }
            "tool_result" => {
                origins.note(format!("messages.{}", messages.len()), block.own_path());
                messages.push(tool_result(&block)?);
            }
            other => return Err(unusable(&block, other)),
        }
    }
    if role == "user" && parts.is_empty() {
        return Ok(());
    }
    let mut members: Members<'a> = Vec::new();
    if !parts.is_empty() {
        members.push(("content".into(), json::array(parts)));
    }
    if !calls.is_empty() {
        members.push(("tool_calls".into(), json::array(calls)));
    }
    if !reasoning.is_empty() {
        members.push(("reasoning".into(), Json::Str(reasoning.into())));
    }
    origins.note(format!("messages.{}", messages.len()), from.own_path());
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
    let id = ("tool_call_id".into(), Json::Str(id.to_owned().into()));
    Ok(message("tool", vec![("content".into(), Json::Str(tool_text(block)?.into())), id]))
}

/// The text of a tool's result, a line for each of its parts.
fn tool_text(block: &Fields<'_, '_>) -> Result<String> {
    let parts = match block.some("content") {
        None => return Ok(String::new()),
        Some(Json::Str(text)) => return Ok(text.to_string()),
        Some(Json::Array(parts)) => parts,
        Some(other) => {
            return Err(fields::wrong(&block.path("content"), "a string or a list of blocks", other));
        }
    };
    let mut texts = Vec::with_capacity(parts.len());
    for (index, part) in parts.iter().enumerate() {
        let part = Fields::of(part, block.path(&format!("content.{index}")))?;
        match kind(&part)? {
            "text" => texts.push(part.string("text")?.unwrap_or_default()),
            "tool_reference" => {
                texts.push(part.string("tool_name")?.or(part.string("name")?).unwrap_or_default());
            }
            other => return Err(unusable(&part, other)),
        }
    }
    Ok(texts.join("\n"))
}

/// `thinking` and `output_config`.
fn thinking<'a>(
    from: &Fields<'_, 'a>,
    max_tokens: i64,
    chat: &mut Members<'a>,
    origins: &mut Origins,
) -> Result<()> {
    let mut effort = None;
    if let Some(thinking) = from.object("thinking")? {
        match kind(&thinking)? {
            "disabled" | "between_tools" => effort = Some("none".to_owned()),
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
                origins.note("thinking_token_budget", thinking.path("budget_tokens"));
                chat.push(("thinking_token_budget".into(), Json::Int(budget)));
            }
            "adaptive" => {}
            other => {
                let message = format!(
                    "thinking.type must be \"enabled\", \"disabled\", \"adaptive\" or \"between_tools\", not \"{}\"",
                    json::clip(other)
                );
                return Err(Error::validation("thinking", message));
            }
        }
    }
    if let Some(output) = from.object("output_config")? {
        origins.note("reasoning_effort", output.path("effort"));
        origins.note("response_format.json_schema.schema", output.path("format.schema"));
        origins.note("response_format", output.path("format"));
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
            let Some(name) = choice.string("name")?.filter(|name| !name.is_empty()) else {
                let message = "tool_choice.name must be given where tool_choice.type is \"tool\"";
                return Err(Error::validation("tool_choice", message));
            };
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
