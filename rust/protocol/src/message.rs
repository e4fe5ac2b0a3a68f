//! The shape of a chat message.

use crate::{Bounds, Error, Fields, Json, Result, bounds, fields, json};

/// Checks what a message must have whatever its role: a role, and content of a known kind.
///
/// # Errors
/// A validation error with the path of the field at fault.
pub fn check(message: &Json<'_>, index: usize, from: &Fields<'_, '_>, limits: &Bounds) -> Result<()> {
    if is_plain(message, limits) {
        return Ok(());
    }
    let message = Fields::of(message, from.path(&format!("messages.{index}")))?;
    let role = fields::string(message.required("role")?, &message.path("role"))?;
    bounds::string_bytes(&message.path("role"), role, limits)?;
    match message.some("content") {
        None | Some(Json::Str(_) | Json::Array(_)) => {}
        Some(other) => {
            return Err(fields::wrong(&message.path("content"), "a string or a list of parts", other));
        }
    }
    for key in ["reasoning", "reasoning_content", "refusal"] {
        message.string(key)?;
    }
    for key in ["name", "tool_call_id"] {
        bounds::string_bytes(&message.path(key), message.string(key)?.unwrap_or_default(), limits)?;
    }
    for (index, call) in message.list("tool_calls")?.unwrap_or_default().iter().enumerate() {
        check_call(call, message.path(&format!("tool_calls.{index}")))?;
    }
    Ok(())
}

/// Whether a message is a role and a text and nothing else, as most are: those need no path for an error.
fn is_plain(message: &Json<'_>, limits: &Bounds) -> bool {
    match message {
        Json::Object(members) => match members.as_slice() {
            [(role, Json::Str(name)), (content, Json::Str(_))] => {
                role == "role" && content == "content" && name.len() <= limits.string_bytes
            }
            _ => false,
        },
        _ => false,
    }
}

/// A tool call of the history. Arguments may be JSON text, an object, empty or null.
fn check_call(call: &Json<'_>, path: String) -> Result<()> {
    let call = Fields::of(call, path)?;
    fields::string(call.required("id")?, &call.path("id"))?;
    let function = Fields::of(call.required("function")?, call.path("function"))?;
    fields::string(function.required("name")?, &function.path("name"))?;
    match function.raw("arguments") {
        None => Err(Error::validation(&function.path("arguments"), "Field required: the call's arguments")),
        Some(Json::Null | Json::Str(_) | Json::Object(_)) => Ok(()),
        Some(other) => Err(fields::wrong(&function.path("arguments"), "JSON text or an object", other)),
    }
}

/// The role of a message that passed [`check`].
#[must_use]
pub fn role<'v>(message: &'v Json<'_>) -> &'v str {
    json::get(message, "role").and_then(json::as_str).unwrap_or_default()
}
