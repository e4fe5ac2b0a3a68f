//! The variables of a template run: what the request's fields and `chat_template_kwargs` say.

use std::borrow::Cow;
use std::collections::BTreeMap;

use dragoman_protocol::{Error, Json, Result, json};

/// The variables beside messages and tools.
pub struct Variables<'a> {
    pub add_generation_prompt: bool,
    pub continue_final_message: bool,
    pub documents: Option<Json<'a>>,
    /// Further variables, in order.
    pub kwargs: Vec<(String, Json<'a>)>,
}

/// What a request says of the template run.
pub struct Asked<'v, 'a> {
    pub kwargs: Option<&'v Json<'a>>,
    pub add_generation_prompt: bool,
    pub continue_final_message: bool,
    pub documents: Option<&'v Json<'a>>,
    pub reasoning_effort: Option<&'v str>,
    /// What the template gets in place of an effort: `--reasoning-effort-map`.
    pub effort_map: &'v BTreeMap<String, String>,
}

/// Names of the conversation itself, which a request may not set this way.
const RESERVED: [&str; 2] = ["messages", "conversation"];

/// Other arguments of the reference's rendering: they mean nothing here. A template of the request's own is one of
/// them; it is read where the template is chosen.
const IGNORED: [&str; 5] = ["tools", "tokenize", "return_dict", "return_tensors", "chat_template"];

/// Names that have fields of their own, which win.
const FIELDS: [&str; 3] = ["add_generation_prompt", "continue_final_message", "documents"];

/// Merges the server's default variables, the request's, and those that its fields stand for.
///
/// # Errors
/// A bad-request error for a reserved name.
pub fn variables<'a>(
    defaults: &serde_json::Map<String, serde_json::Value>,
    asked: &Asked<'_, 'a>,
) -> Result<Variables<'a>> {
    let mut kwargs: Vec<(String, Json<'a>)> =
        defaults.iter().map(|(name, value)| (name.clone(), owned(value))).collect();
    let mut documents = asked.documents.cloned();
    let mut thinking_asked = false;
    if let Some(Json::Object(members)) = asked.kwargs {
        for (name, value) in json::unique_members(members) {
            if RESERVED.contains(&name) {
                let message =
                    format!("chat_template_kwargs cannot set `{name}`, which the server sets itself");
                return Err(Error::bad_request(message));
            }
            if IGNORED.contains(&name) {
                continue;
            }
            if name == "documents" && documents.is_none() {
                documents = Some(value.clone());
            }
            thinking_asked |= name == "enable_thinking";
            set(&mut kwargs, name, value.clone());
        }
    }
    kwargs.retain(|(name, _)| !FIELDS.contains(&name.as_str()));
    if let Some(effort) = asked.reasoning_effort {
        let mapped = asked.effort_map.get(effort).map_or(effort, String::as_str);
        set(&mut kwargs, "reasoning_effort", Json::Str(Cow::Owned(mapped.to_owned())));
        // The effort speaks for this request, and so wins over the server's default.
        if !thinking_asked {
            set(&mut kwargs, "enable_thinking", Json::Bool(mapped != "none"));
        }
    }
    Ok(Variables {
        add_generation_prompt: asked.add_generation_prompt,
        continue_final_message: asked.continue_final_message,
        documents,
        kwargs,
    })
}

impl Variables<'_> {
    /// The variables as one object: what an output parser is told of the prompt.
    pub fn to_json(&self) -> Json<'_> {
        let mut members: Vec<(Cow<'_, str>, Json<'_>)> =
            self.kwargs.iter().map(|(name, value)| (name.as_str().into(), value.clone())).collect();
        members.push(("add_generation_prompt".into(), Json::Bool(self.add_generation_prompt)));
        members.push(("continue_final_message".into(), Json::Bool(self.continue_final_message)));
        members.extend(self.documents.as_ref().map(|documents| ("documents".into(), documents.clone())));
        json::object(members)
    }
}

fn set<'a>(kwargs: &mut Vec<(String, Json<'a>)>, name: &str, value: Json<'a>) {
    match kwargs.iter_mut().find(|(known, _)| known == name) {
        Some((_, old)) => *old = value,
        None => kwargs.push((name.to_owned(), value)),
    }
}

fn owned(value: &serde_json::Value) -> Json<'static> {
    Json::parse(value.to_string().as_bytes(), true).map_or(Json::Null, Json::into_static)
}
