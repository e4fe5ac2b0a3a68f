//! Grammars that make a model call the tools that a request demands.

use dragoman_protocol::chat::tool_name;
use dragoman_protocol::{ChatRequest, Error, Json, Result, StructuredOutputs, ToolChoice, json};
use serde_json::{Value, json};

/// The grammar for a request's tools, where its `tool_choice` or a strict tool demands one.
///
/// A parser that reads only its model's own form gets a structural tag of that form; with the others the calls are
/// JSON. No grammar holds the few forms whose calls are numbered or stand in one list.
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
        None if FREE.contains(&parser) => Ok(None),
        None => json_form(&demanded, &request.tool_choice),
    }
}

/// How a parser's model writes a call.
struct WireForm {
    trigger: &'static str,
    /// Before the name, between name and arguments, and behind the arguments.
    around: &'static [[&'static str; 3]],
    arguments: Arguments,
}

/// How the arguments of a call are written.
#[derive(PartialEq, Eq)]
enum Arguments {
    /// As JSON, and the name as a JSON string.
    Json,
    /// As JSON, behind the bare name.
    JsonBehindName,
    /// In a form that no schema describes: the grammar only frames them.
    Other,
}

/// The forms of the parsers that read a demanded call in no other form.
fn wire_form(parser: &str) -> Option<&'static WireForm> {
    const HERMES: WireForm = WireForm {
        trigger: "<tool_call>",
        around: &[
            ["<tool_call>\n{\"name\": ", ", \"arguments\": ", "}\n</tool_call>"],
            ["<tool_call>{\"name\": ", ", \"arguments\": ", "}</tool_call>"],
        ],
        arguments: Arguments::Json,
    };
    const QWEN3_CODER: WireForm = WireForm {
        trigger: "<tool_call>",
        around: &[["<tool_call>\n<function=", ">\n", "</function>\n</tool_call>"]],
        arguments: Arguments::Other,
    };
    const GLM: WireForm = WireForm {
        trigger: "<tool_call>",
        around: &[["<tool_call>", "\n", "</tool_call>"]],
        arguments: Arguments::Other,
    };
    const MINIMAX_M2: WireForm = WireForm {
        trigger: "<minimax:tool_call>",
        around: &[["<minimax:tool_call>\n<invoke name=\"", "\">\n", "</invoke>\n</minimax:tool_call>"]],
        arguments: Arguments::Other,
    };
    const DEEPSEEK_V32: WireForm = WireForm {
        trigger: "<｜DSML｜function_calls>",
        around: &[[
            "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"",
            "\">\n",
            "</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        ]],
        arguments: Arguments::Other,
    };
    const DEEPSEEK_V4: WireForm = WireForm {
        trigger: "<｜DSML｜tool_calls>",
        around: &[[
            "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"",
            "\">\n",
            "</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
        ]],
        arguments: Arguments::Other,
    };
    const DEEPSEEK_V3: WireForm = WireForm {
        trigger: "<｜tool▁calls▁begin｜>",
        around: &[[
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>",
            "\n```json\n",
            "\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        ]],
        arguments: Arguments::JsonBehindName,
    };
    const DEEPSEEK_V31: WireForm = WireForm {
        trigger: "<｜tool▁calls▁begin｜>",
        around: &[[
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>",
            "<｜tool▁sep｜>",
            "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        ]],
        arguments: Arguments::JsonBehindName,
    };
    const MISTRAL: WireForm = WireForm {
        trigger: "[TOOL_CALLS]",
        around: &[["[TOOL_CALLS]", "[ARGS]", ""]],
        arguments: Arguments::JsonBehindName,
    };
    const GEMMA4: WireForm = WireForm {
        trigger: "<|tool_call>",
        around: &[["<|tool_call>call:", "{", "}<tool_call|>"]],
        arguments: Arguments::Other,
    };
    Some(match parser {
        "hermes" => &HERMES,
        "qwen3_coder" | "qwen3_xml" | "mimo" | "step3p5" => &QWEN3_CODER,
        "glm45" | "glm47" => &GLM,
        "minimax_m2" => &MINIMAX_M2,
        "deepseek_v3" => &DEEPSEEK_V3,
        "deepseek_v31" => &DEEPSEEK_V31,
        "deepseek_v32" => &DEEPSEEK_V32,
        "deepseek_v4" => &DEEPSEEK_V4,
        "mistral" => &MISTRAL,
        "gemma4" => &GEMMA4,
        _ => return None,
    })
}

/// Parsers of forms that no tag here describes, and that read no JSON in their place.
const FREE: [&str; 4] = ["cohere_command3", "cohere_command4", "kimi_k2", "openai"];

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
        let content = match form.arguments {
            Arguments::Other => json!({"type": "any_text"}),
            Arguments::Json | Arguments::JsonBehindName => json!({
                "type": "json_schema", "json_schema": schema, "style": "json",
                "any_order": false, "max_whitespace_cnt": null, "excludes": [],
            }),
        };
        let name = tool_name(tool).unwrap_or_default();
        let name = match form.arguments {
            Arguments::Json => Value::from(name).to_string(),
            Arguments::JsonBehindName | Arguments::Other => name.to_owned(),
        };
        for [before, between, behind] in form.around {
            let begin = format!("{before}{name}{between}");
            tags.push(json!({"type": "tag", "begin": begin, "content": content, "end": behind}));
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
