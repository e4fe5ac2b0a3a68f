//! Responses requests, converted to chat requests.

use dragoman_protocol::{Error, Fields, Json, Result, fields, json};

use crate::Renderer;
use crate::chat::{CHAT, Style};
use crate::convert::{Members, function, json_schema, message, named_choice, text_part, tool_call};

const RESPONSES: Style = Style {
    id_prefix: "resp_",
    tools_need_parser: false,
    tells_reasoning: false,
    always_extra_args: true,
    ..CHAT
};

/// Fields that mean the same in a chat request.
const SAME: [(&str, &str); 17] = [
    ("model", "model"),
    ("max_output_tokens", "max_tokens"),
    ("temperature", "temperature"),
    ("top_p", "top_p"),
    ("top_k", "top_k"),
    ("stop", "stop"),
    ("seed", "seed"),
    ("presence_penalty", "presence_penalty"),
    ("frequency_penalty", "frequency_penalty"),
    ("repetition_penalty", "repetition_penalty"),
    ("stream", "stream"),
    ("parallel_tool_calls", "parallel_tool_calls"),
    ("chat_template_kwargs", "chat_template_kwargs"),
    ("cache_salt", "cache_salt"),
    ("priority", "priority"),
    ("vllm_xargs", "vllm_xargs"),
    ("request_id", "request_id"),
];

impl Renderer {
    /// Renders the body of `/v1/responses/render`; `request_id` is the header's.
    ///
    /// # Errors
    /// Everything that a client can do wrong.
    pub fn responses(&self, body: &[u8], request_id: Option<&str>) -> Result<Vec<u8>> {
        let value = json::parse(body, &self.config.bounds)?;
        let chat = to_chat(&Fields::of_body(&value)?)?;
        json::to_bytes(&self.chat_value(&Fields::of_body(&chat)?, request_id, &RESPONSES)?)
    }
}

fn to_chat<'a>(from: &Fields<'_, 'a>) -> Result<Json<'a>> {
    for key in ["previous_response_id", "conversation", "prompt"] {
        if from.some(key).is_some() {
            return Err(Error::InvalidRequest {
                message: format!("{key} needs stored responses, and the render endpoint stores none"),
                param: Some(key.to_owned()),
            });
        }
    }
    let mut chat: Members<'a> = Vec::new();
    for (key, name) in SAME {
        if let Some(value) = from.some(key) {
            chat.push((name.into(), value.clone()));
        }
    }
    let mut messages = Vec::new();
    if let Some(instructions) = from.string("instructions")? {
        let text = Json::Str(instructions.to_owned().into());
        messages.push(message("system", vec![("content".into(), text)]));
    }
    match from.required("input")? {
        text @ Json::Str(_) => messages.push(message("user", vec![("content".into(), text.clone())])),
        Json::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                entry(&Fields::of(item, format!("input.{index}"))?, &mut messages)?;
            }
        }
        other => return Err(fields::wrong("input", "a string or a list of items", other)),
    }
    chat.push(("messages".into(), json::array(messages)));
    if let Some(effort) = from.object("reasoning")?.and_then(|reasoning| reasoning.some("effort")) {
        chat.push(("reasoning_effort".into(), effort.clone()));
    }
    if let Some(format) = from.object("text")?.map(|text| text.object("format")).transpose()?.flatten() {
        text_format(&format, &mut chat)?;
    }
    if from.string("truncation")? == Some("auto") {
        chat.push(("truncate_prompt_tokens".into(), Json::Int(-1)));
    }
    tools(from, &mut chat)?;
    Ok(json::object(chat))
}

/// One item of the input.
fn entry<'a>(item: &Fields<'_, 'a>, messages: &mut Vec<Json<'a>>) -> Result<()> {
    let owned = |key: &str| item.string(key).map(|text| text.unwrap_or_default().to_owned());
    match item.string("type")?.unwrap_or("message") {
        "message" => {
            let role = fields::string(item.required("role")?, &item.path("role"))?;
            let content = item.required("content")?.clone();
            let role = Json::Str(role.to_owned().into());
            messages.push(json::object(vec![("role".into(), role), ("content".into(), content)]));
        }
        "function_call" => {
            let arguments = item.some("arguments").cloned().unwrap_or(Json::Str("".into()));
            let call = tool_call(owned("call_id")?, owned("name")?, arguments);
            messages.push(message("assistant", vec![("tool_calls".into(), json::array(vec![call]))]));
        }
        "function_call_output" => {
            let output = item.required("output")?.clone();
            let id = Json::Str(owned("call_id")?.into());
            messages.push(message("tool", vec![("content".into(), output), ("tool_call_id".into(), id)]));
        }
        "reasoning" => {
            let mut texts = String::new();
            for key in ["content", "summary"] {
                for part in item.list(key)?.unwrap_or_default() {
                    texts.push_str(json::get(part, "text").and_then(json::as_str).unwrap_or_default());
                }
                if !texts.is_empty() {
                    break;
                }
            }
            let content = json::array(vec![text_part(String::new())]);
            let reasoning = ("reasoning".into(), Json::Str(texts.into()));
            messages.push(message("assistant", vec![("content".into(), content), reasoning]));
        }
        other => {
            let message =
                format!("{} is an item of an unknown kind: {}", item.path("type"), json::clip(other));
            return Err(Error::validation(&item.path("type"), message));
        }
    }
    Ok(())
}

fn text_format<'a>(format: &Fields<'_, 'a>, chat: &mut Members<'a>) -> Result<()> {
    let kind = fields::string(format.required("type")?, &format.path("type"))?;
    let wanted = match kind {
        "text" => return Ok(()),
        "json_object" => json::object(vec![("type".into(), Json::Str("json_object".into()))]),
        "json_schema" => {
            let name = fields::string(format.required("name")?, &format.path("name"))?;
            let schema = Fields::of(format.required("schema")?, format.path("schema"))?;
            json_schema(name, schema.value())
        }
        other => {
            let message = format!("text.format.type is unknown: {}", json::clip(other));
            return Err(Error::validation(&format.path("type"), message));
        }
    };
    chat.push(("response_format".into(), wanted));
    Ok(())
}

fn tools<'a>(from: &Fields<'_, 'a>, chat: &mut Members<'a>) -> Result<()> {
    let mut functions = Vec::new();
    for (index, tool) in from.list("tools")?.unwrap_or_default().iter().enumerate() {
        let tool = Fields::of(tool, format!("tools.{index}"))?;
        if fields::string(tool.required("type")?, &tool.path("type"))? == "function" {
            let name = fields::string(tool.required("name")?, &tool.path("name"))?;
            functions.push(function(
                name,
                tool.some("description"),
                tool.some("parameters"),
                tool.some("strict"),
            ));
        }
    }
    if functions.is_empty() {
        return Ok(());
    }
    chat.push(("tools".into(), json::array(functions)));
    match from.some("tool_choice") {
        Some(word @ Json::Str(_)) => chat.push(("tool_choice".into(), word.clone())),
        Some(choice) => {
            let name = json::get(choice, "name").and_then(json::as_str).unwrap_or_default();
            chat.push(("tool_choice".into(), named_choice(name.to_owned())));
        }
        None => {}
    }
    Ok(())
}
