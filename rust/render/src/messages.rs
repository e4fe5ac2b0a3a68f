//! Messages as the template gets them.
//!
//! Only the fields that the API documents go in: role, content, name, tool calls, the call that a tool
//! answers, and reasoning. Whatever else a client sends is not shown to the template.

use dragoman_protocol::{Error, Json, Result, json, message};
use dragoman_template::ContentFormat;

use crate::content::content;

/// What a template expects of messages.
pub struct Form<'m> {
    pub content: ContentFormat,
    /// Whether the template knows the developer role; elsewhere developer messages are system messages.
    pub developer: bool,
    /// The model's name, for error messages.
    pub model: &'m str,
}

/// The conversation as a list of template messages.
///
/// # Errors
/// A bad-request error for an empty conversation and for content that cannot be used.
pub fn conversation<'a>(messages: &[Json<'a>], form: &Form<'_>) -> Result<Json<'a>> {
    if messages.is_empty() {
        return Err(Error::bad_request("a chat needs at least one message, and messages is empty"));
    }
    let entries = messages.iter().enumerate().map(|(index, value)| one(value, index, form));
    Ok(json::array(entries.collect::<Result<_>>()?))
}

fn one<'a>(source: &Json<'a>, index: usize, form: &Form<'_>) -> Result<Json<'a>> {
    let role = match message::role(source) {
        "developer" if !form.developer => "system",
        role => role,
    };
    let text = content(
        json::get(source, "content"),
        form.content,
        form.model,
        &format!("messages.{index}.content"),
    )?;
    let mut entry = vec![("role".into(), Json::Str(role.to_owned().into())), ("content".into(), text)];
    if role == "assistant" {
        if let Some(Json::Array(calls)) = json::get(source, "tool_calls")
            && !calls.is_empty()
        {
            entry.push(("tool_calls".into(), json::array(calls.iter().map(tool_call).collect())));
        }
        let reasoning =
            json::get_some(source, "reasoning").or_else(|| json::get_some(source, "reasoning_content"));
        if let Some(reasoning) = reasoning {
            entry.push(("reasoning".into(), reasoning.clone()));
            entry.push(("reasoning_content".into(), reasoning.clone()));
        }
    }
    if role == "tool"
        && let Some(id) = json::get_some(source, "tool_call_id")
    {
        entry.push(("tool_call_id".into(), id.clone()));
    }
    if let Some(name) = json::get_some(source, "name") {
        entry.push(("name".into(), name.clone()));
    }
    Ok(json::object(entry))
}

/// A call of the history, its arguments parsed: templates walk them as a mapping.
///
/// What is no JSON object stands for no arguments, as in vLLM: an agent sends a call that was cut or malformed again
/// with every later turn, and refusing it would end the session for good.
fn tool_call<'a>(call: &Json<'a>) -> Json<'a> {
    let (Json::Object(members), Some(function)) = (call, json::get(call, "function")) else {
        return call.clone();
    };
    let Json::Object(fields) = function else { return call.clone() };
    let arguments = match json::get(function, "arguments") {
        Some(Json::Str(text)) => Json::parse(text.as_bytes(), true).map(Json::into_static).ok(),
        other => other.cloned(),
    };
    let arguments = arguments.filter(|value| matches!(value, Json::Object(_)));
    let arguments = arguments.unwrap_or_else(|| json::object(Vec::new()));
    replaced(members, "function", replaced(fields, "arguments", arguments))
}

/// The members of an object with one value replaced.
fn replaced<'a>(members: &[(std::borrow::Cow<'a, str>, Json<'a>)], key: &str, value: Json<'a>) -> Json<'a> {
    let mut value = Some(value);
    let mut entry: Vec<_> = members
        .iter()
        .filter_map(|(name, old)| {
            if name == key {
                value.take().map(|new| (name.clone(), new))
            } else {
                Some((name.clone(), old.clone()))
            }
        })
        .collect();
    entry.extend(value.map(|new| (key.to_owned().into(), new)));
    json::object(entry)
}
