//! Responses requests, converted to chat requests.

use dragoman_protocol::{Error, Fields, Json, Result, bounds, fields, json};

use crate::Renderer;
use crate::chat::{CHAT, Style};
use crate::convert::{Members, function, json_schema, message, named_choice, tool_call};
use crate::origins::Origins;

const RESPONSES: Style = Style {
    id_prefix: "resp_",
    tools_need_parser: false,
    tells_reasoning: false,
    always_extra_args: true,
    ..CHAT
};

/// Fields that mean the same in a chat request.
const SAME: [(&str, &str); 25] = [
    ("model", "model"),
    ("max_output_tokens", "max_tokens"),
    ("temperature", "temperature"),
    ("top_p", "top_p"),
    ("top_k", "top_k"),
    ("min_p", "min_p"),
    ("logit_bias", "logit_bias"),
    ("stop_token_ids", "stop_token_ids"),
    ("ignore_eos", "ignore_eos"),
    ("include_stop_str_in_output", "include_stop_str_in_output"),
    ("skip_special_tokens", "skip_special_tokens"),
    ("kv_transfer_params", "kv_transfer_params"),
    ("structured_outputs", "structured_outputs"),
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

/// What of `include` asks for log-probabilities.
const LOGPROBS: &str = "message.output_text.logprobs";

impl Renderer {
    /// Renders the body of `/v1/responses/render`; `request_id` is the header's.
    ///
    /// # Errors
    /// Everything that a client can do wrong.
    pub fn responses(&self, body: &[u8], request_id: Option<&str>) -> Result<Vec<u8>> {
        let value = json::parse(body, &self.config.bounds)?;
        let from = Fields::of_body(&value)?;
        if let Some(Json::Array(items)) = from.some("input") {
            bounds::count("input", items.len(), self.config.bounds.messages)?;
        }
        bounds::count("tools", from.list("tools")?.map_or(0, <[_]>::len), self.config.bounds.tools)?;
        let chat = to_chat(&from, &mut Origins::default())?;
        let request = self.chat_value(&Fields::of_body(&chat)?, request_id, &RESPONSES).map_err(|error| {
            let mut origins = Origins::default();
            let converted = to_chat(&from, &mut origins);
            converted.map_or(error.clone(), |_| origins.of_client(error))
        })?;
        json::to_bytes(&request)
    }
}

fn to_chat<'a>(from: &Fields<'_, 'a>, origins: &mut Origins) -> Result<Json<'a>> {
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
            if key != name {
                origins.note(name, key);
            }
        }
    }
    let mut history = History { messages: Vec::new(), open: None, origins };
    if let Some(instructions) = from.string("instructions")?.filter(|text| !text.is_empty()) {
        let text = Json::Str(instructions.to_owned().into());
        history.push("instructions", message("system", vec![("content".into(), text)]));
    }
    match from.required("input")? {
        text @ Json::Str(_) => {
            history.push("input", message("user", vec![("content".into(), text.clone())]));
        }
        Json::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                history.take(&Fields::of(item, format!("input.{index}"))?)?;
            }
        }
        other => return Err(fields::wrong("input", "a string or a list of items", other)),
    }
    history.close();
    chat.push(("messages".into(), json::array(history.messages)));
    if let Some(effort) = from.object("reasoning")?.and_then(|reasoning| reasoning.some("effort")) {
        origins.note("reasoning_effort", "reasoning.effort");
        chat.push(("reasoning_effort".into(), effort.clone()));
    }
    if let Some(format) = from.object("text")?.map(|text| text.object("format")).transpose()?.flatten() {
        origins.note("response_format", "text.format");
        origins.note("response_format.json_schema", "text.format");
        text_format(&format, &mut chat)?;
    }
    if from.strings("include")?.is_some_and(|wanted| wanted.iter().any(|name| name == LOGPROBS)) {
        chat.push(("logprobs".into(), Json::Bool(true)));
        chat.extend(from.some("top_logprobs").map(|count| ("top_logprobs".into(), count.clone())));
    }
    if from.string("truncation")? == Some("auto") {
        chat.push(("truncate_prompt_tokens".into(), Json::Int(-1)));
    }
    tools(from, &mut chat, origins)?;
    Ok(json::object(chat))
}

/// The conversation while its items are read.
struct History<'a, 'o> {
    messages: Vec<Json<'a>>,
    /// The assistant's message under way.
    open: Option<Assistant<'a>>,
    origins: &'o mut Origins,
}

/// A message of the assistant, which may be several items: its reasoning, its text and its calls.
#[derive(Default)]
struct Assistant<'a> {
    content: Option<Json<'a>>,
    reasoning: Option<Json<'a>>,
    calls: Vec<Json<'a>>,
}

impl<'a> History<'a, '_> {
    fn push(&mut self, path: &str, message: Json<'a>) {
        self.close();
        self.origins.note(format!("messages.{}", self.messages.len()), path);
        self.messages.push(message);
    }

    /// The assistant's message ends.
    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        let mut members: Members<'a> = Vec::new();
        members.extend(open.content.map(|content| ("content".into(), content)));
        members.extend(open.reasoning.map(|reasoning| ("reasoning".into(), reasoning)));
        if !open.calls.is_empty() {
            members.push(("tool_calls".into(), json::array(open.calls)));
        }
        self.messages.push(message("assistant", members));
    }

    /// The assistant's message that the item at `path` belongs to: the one under way, unless it is `full`.
    fn assistant(&mut self, path: &str, full: impl Fn(&Assistant<'a>) -> bool) -> &mut Assistant<'a> {
        if self.open.as_ref().is_some_and(full) {
            self.close();
        }
        if self.open.is_none() {
            self.origins.note(format!("messages.{}", self.messages.len()), path);
        }
        self.open.get_or_insert_default()
    }

    /// One item of the input.
    fn take(&mut self, item: &Fields<'_, 'a>) -> Result<()> {
        let owned = |key: &str| item.string(key).map(|text| text.unwrap_or_default().to_owned());
        let path = item.own_path();
        match item.string("type")?.unwrap_or("message") {
            "message" => {
                let role = fields::string(item.required("role")?, &item.path("role"))?;
                let content = item.required("content")?.clone();
                if role == "assistant" {
                    self.assistant(path, |open| open.content.is_some()).content = Some(content);
                } else {
                    let role = Json::Str(role.to_owned().into());
                    self.push(path, json::object(vec![("role".into(), role), ("content".into(), content)]));
                }
            }
            "function_call" => {
                let arguments = item.some("arguments").cloned().unwrap_or(Json::Str("".into()));
                let call = tool_call(owned("call_id")?, owned("name")?, arguments);
                self.assistant(path, |_| false).calls.push(call);
            }
            "custom_tool_call" => {
                let input = json::object(vec![("input".into(), Json::Str(owned("input")?.into()))]);
                let call = tool_call(owned("call_id")?, owned("name")?, input);
                self.assistant(path, |_| false).calls.push(call);
            }
            "function_call_output" | "custom_tool_call_output" => {
                let output = item.required("output")?.clone();
                let id = Json::Str(owned("call_id")?.into());
                self.push(
                    path,
                    message("tool", vec![("content".into(), output), ("tool_call_id".into(), id)]),
                );
                self.origins
                    .note(format!("messages.{}.content", self.messages.len() - 1), item.path("output"));
            }
            "reasoning" => {
                if item.some("encrypted_content").is_some() {
                    let message = format!("{} cannot be read here", item.path("encrypted_content"));
                    return Err(Error::bad_parameter("input", message));
                }
                let reasoning = Json::Str(reasoning(item)?.into());
                self.assistant(path, |open| open.reasoning.is_some()).reasoning = Some(reasoning);
            }
            other => {
                let message =
                    format!("{} is an item of an unknown kind: {}", item.path("type"), json::clip(other));
                return Err(Error::bad_parameter("input", message));
            }
        }
        Ok(())
    }
}

/// The text of a reasoning item: its content, or its summary where it has none.
fn reasoning(item: &Fields<'_, '_>) -> Result<String> {
    let mut texts = String::new();
    for key in ["content", "summary"] {
        for part in item.list(key)?.unwrap_or_default() {
            texts.push_str(json::get(part, "text").and_then(json::as_str).unwrap_or_default());
        }
        if !texts.is_empty() {
            break;
        }
    }
    Ok(texts)
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

fn tools<'a>(from: &Fields<'_, 'a>, chat: &mut Members<'a>, origins: &mut Origins) -> Result<()> {
    let mut functions = Vec::new();
    for (index, tool) in from.list("tools")?.unwrap_or_default().iter().enumerate() {
        let tool = Fields::of(tool, format!("tools.{index}"))?;
        if fields::string(tool.required("type")?, &tool.path("type"))? == "function" {
            let name = fields::string(tool.required("name")?, &tool.path("name"))?;
            origins.note(format!("tools.{}.function", functions.len()), tool.own_path());
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
