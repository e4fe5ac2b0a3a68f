//! Grammars that make a model call the tools that a request demands.

use dragoman_protocol::chat::tool_name;
use dragoman_protocol::{ChatRequest, Error, Json, Result, StructuredOutputs, ToolChoice, json};
use serde_json::{Value, json};

/// The grammar for a request's tools, where its `tool_choice` or a strict tool demands one.
///
/// A parser with a wire form of its own gets a structural tag of that form; with the others the calls are JSON.
///
/// # Errors
/// None that a checked request can cause.
pub fn tool_grammar(
    parser: Option<&str>,
    request: &ChatRequest<'_, '_>,
) -> Result<Option<StructuredOutputs>> {
    let (Some(parser), Some(tools)) = (parser, request.tools) else { return Ok(None) };
    let demanded: Vec<&Json<'_>> = match &request.tool_choice {
        ToolChoice::Auto if tools.iter().any(is_strict) => tools.iter().collect(),
        ToolChoice::None | ToolChoice::Auto => return Ok(None),
        ToolChoice::Required => tools.iter().collect(),
        ToolChoice::Named(name) => tools.iter().filter(|tool| tool_name(tool) == Some(name)).collect(),
    };
    match wire_form(parser) {
        Some(form) => structural_tag(form, &demanded, &request.tool_choice).map(Some),
        None => json_form(&demanded, &request.tool_choice),
    }
}

/// How a parser's model writes a call: what stands around the JSON of the arguments.
struct WireForm {
    trigger: &'static str,
    /// Before the name, between name and arguments, and behind the arguments.
    around: &'static [[&'static str; 3]],
}

fn wire_form(parser: &str) -> Option<&'static WireForm> {
    const HERMES: WireForm = WireForm {
        trigger: "<tool_call>",
        around: &[
            ["<tool_call>\n{\"name\": ", ", \"arguments\": ", "}\n</tool_call>"],
            ["<tool_call>{\"name\": ", ", \"arguments\": ", "}</tool_call>"],
        ],
    };
    (parser == "hermes").then_some(&HERMES)
}

fn function<'v, 'a>(tool: &'v Json<'a>, key: &str) -> Option<&'v Json<'a>> {
    json::get_some(json::get(tool, "function")?, key)
}

fn is_strict(tool: &Json<'_>) -> bool {
    matches!(function(tool, "strict"), Some(Json::Bool(true)))
}

fn value(source: &Json<'_>) -> Result<Value> {
    serde_json::to_value(json::Serialized(source))
        .map_err(|error| Error::Internal { message: format!("tool schema: {error}") })
}

fn structural_tag(form: &WireForm, tools: &[&Json<'_>], choice: &ToolChoice) -> Result<StructuredOutputs> {
    let mut tags = Vec::new();
    for tool in tools {
        // Only a strict tool is held to its schema; the others to being JSON.
        let schema = match function(tool, "parameters") {
            Some(parameters) if is_strict(tool) => value(parameters)?,
            _ => Value::Bool(true),
        };
        let name = Value::from(tool_name(tool).unwrap_or_default()).to_string();
        for [before, between, behind] in form.around {
            tags.push(json!({
                "type": "tag",
                "begin": format!("{before}{name}{between}"),
                "content": {
                    "type": "json_schema", "json_schema": schema, "style": "json",
                    "any_order": false, "max_whitespace_cnt": null, "excludes": [],
                },
                "end": behind,
            }));
        }
    }
    let named = matches!(choice, ToolChoice::Named(_));
    let format = if *choice == ToolChoice::Auto {
        json!({
            "type": "triggered_tags", "triggers": [form.trigger], "tags": tags,
            "at_least_one": false, "stop_after_first": false, "excludes": [],
        })
    } else {
        json!({
            "type": "tags_with_separator", "tags": tags, "separator": "",
            "at_least_one": true, "stop_after_first": named,
        })
    };
    let tag = json!({"type": "structural_tag", "format": format});
    Ok(StructuredOutputs { structural_tag: Some(tag.to_string()), ..StructuredOutputs::default() })
}

/// A list of `{"name": …, "parameters": …}`, or the arguments alone where the tool is named.
fn json_form(tools: &[&Json<'_>], choice: &ToolChoice) -> Result<Option<StructuredOutputs>> {
    let empty = || json!({"type": "object", "properties": {}});
    let parameters = |tool: &Json<'_>| function(tool, "parameters").map_or_else(|| Ok(empty()), value);
    let schema = match (choice, tools) {
        (ToolChoice::Named(_), [tool]) => parameters(tool)?,
        (ToolChoice::Required, tools) => {
            let call = |tool: &&Json<'_>| {
                Ok(json!({
                    "properties": {
                        "name": {"type": "string", "enum": [tool_name(tool)]},
                        "parameters": parameters(tool)?,
                    },
                    "required": ["name", "parameters"],
                }))
            };
            let calls = tools.iter().map(call).collect::<Result<Vec<Value>>>()?;
            json!({"type": "array", "minItems": 1, "items": {"type": "object", "anyOf": calls}})
        }
        _ => return Ok(None),
    };
    let schema = serde_json::value::to_raw_value(&schema)
        .map_err(|error| Error::Internal { message: format!("tool schema: {error}") })?;
    Ok(Some(StructuredOutputs { json: Some(schema), ..StructuredOutputs::default() }))
}
