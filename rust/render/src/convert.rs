//! Pieces of a chat request, for the APIs that are converted to one.

use std::borrow::Cow;

use dragoman_protocol::{Json, json};

/// The members of an object being made.
pub type Members<'a> = Vec<(Cow<'a, str>, Json<'a>)>;

/// A chat message.
pub fn message<'a>(role: &'static str, mut members: Members<'a>) -> Json<'a> {
    members.insert(0, ("role".into(), Json::Str(role.into())));
    json::object(members)
}

/// A text part.
pub fn text_part<'a>(text: String) -> Json<'a> {
    json::object(vec![("type".into(), Json::Str("text".into())), ("text".into(), Json::Str(text.into()))])
}

/// A tool call of the history.
pub fn tool_call(id: String, name: String, arguments: Json<'_>) -> Json<'_> {
    let function =
        json::object(vec![("name".into(), Json::Str(name.into())), ("arguments".into(), arguments)]);
    json::object(vec![
        ("id".into(), Json::Str(id.into())),
        ("type".into(), Json::Str("function".into())),
        ("function".into(), function),
    ])
}

/// A function tool.
pub fn function<'a>(
    name: &str,
    description: Option<&Json<'a>>,
    parameters: Option<&Json<'a>>,
    strict: Option<&Json<'a>>,
) -> Json<'a> {
    let mut function: Members<'a> = vec![("name".into(), Json::Str(name.to_owned().into()))];
    for (key, value) in [("description", description), ("parameters", parameters), ("strict", strict)] {
        function.extend(value.map(|value| (key.into(), value.clone())));
    }
    json::object(vec![
        ("type".into(), Json::Str("function".into())),
        ("function".into(), json::object(function)),
    ])
}

/// The `tool_choice` that names a function.
pub fn named_choice<'a>(name: String) -> Json<'a> {
    let function = json::object(vec![("name".into(), Json::Str(name.into()))]);
    json::object(vec![("type".into(), Json::Str("function".into())), ("function".into(), function)])
}

/// A `response_format` that asks for a JSON schema.
pub fn json_schema<'a>(name: &str, schema: &Json<'a>) -> Json<'a> {
    let wrapper = json::object(vec![
        ("name".into(), Json::Str(name.to_owned().into())),
        ("schema".into(), schema.clone()),
    ]);
    json::object(vec![("type".into(), Json::Str("json_schema".into())), ("json_schema".into(), wrapper)])
}
