//! Tools as the template gets them.

use dragoman_protocol::{Json, json};

/// The tools with the fields of the schema in its order, null where a description or parameters are missing,
/// as the reference dumps them: templates print tools as they come.
pub fn tools<'a>(tools: &[Json<'a>]) -> Json<'a> {
    json::array(tools.iter().map(tool).collect())
}

const FUNCTION_FIELDS: [&str; 3] = ["name", "description", "parameters"];
/// Left out where they are null.
const OPTIONAL_FIELDS: [&str; 2] = ["strict", "defer_loading"];

fn tool<'a>(tool: &Json<'a>) -> Json<'a> {
    let function = json::get(tool, "function").map_or(Json::Null, function);
    let mut entry = vec![("type".into(), Json::Str("function".into())), ("function".into(), function)];
    rest(tool, &["type", "function"], &mut entry);
    json::object(entry)
}

fn function<'a>(function: &Json<'a>) -> Json<'a> {
    let mut entry: Vec<_> = FUNCTION_FIELDS
        .into_iter()
        .map(|key| (key.into(), json::get(function, key).cloned().unwrap_or(Json::Null)))
        .collect();
    for key in OPTIONAL_FIELDS {
        if let Some(value) = json::get_some(function, key) {
            entry.push((key.into(), value.clone()));
        }
    }
    let known: Vec<&str> = FUNCTION_FIELDS.into_iter().chain(OPTIONAL_FIELDS).collect();
    rest(function, &known, &mut entry);
    json::object(entry)
}

/// Fields that the schema does not know, behind those that it knows.
fn rest<'a>(object: &Json<'a>, known: &[&str], entry: &mut Vec<(std::borrow::Cow<'a, str>, Json<'a>)>) {
    if let Json::Object(members) = object {
        let unknown = json::unique_members(members).into_iter().filter(|(key, _)| !known.contains(key));
        entry.extend(unknown.map(|(key, value)| (key.to_owned().into(), value.clone())));
    }
}
