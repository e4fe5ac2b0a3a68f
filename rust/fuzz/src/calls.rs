//! Outputs that are whole calls, and which of them a server reads as calls.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use serde_json::{Value, json};

use crate::client::{Asked, Endpoint, Message};
use crate::serving::Server;
use crate::tokenizer::{FIRST_MARKER, MARKERS};

/// Whole calls and reasoning in the forms of the families. Markers in them become tokens.
pub const CALLS: &[&str] = &[
    "<think>\nwell\n</think>\n\n",
    "well</think>",
    "<tool_call>\n{\"name\": \"get\", \"arguments\": {\"city\": \"Oslo\", \"n\": [1, {}]}}\n</tool_call>",
    "<tool_call>\n<function=get>\n<parameter=city>\nOslo\n</parameter>\n<parameter=n>\n3\n</parameter>\n</function>\n</tool_call>",
    "<tool_call>get\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n<arg_key>n</arg_key>\n<arg_value>3</arg_value>\n</tool_call>",
    "<seed:tool_call><function=get><parameter=city>Oslo</parameter></function></seed:tool_call>",
    "<minimax:tool_call>\n<invoke name=\"get\">\n<parameter name=\"n\">3</parameter>\n</invoke>\n</minimax:tool_call>",
    "<｜DSML｜function_calls><｜DSML｜invoke name=\"get\"><｜DSML｜parameter name=\"n\" string=\"false\">3</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜function_calls>",
    "<｜DSML｜tool_calls><｜DSML｜invoke name=\"get\"><｜DSML｜parameter name=\"city\" string=\"true\">O</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜tool_calls>",
    "<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"get\"><steptml:parameter name=\"city\">Oslo</steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>",
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get<｜tool▁sep｜>{\"city\": \"Oslo\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get\n```json\n{\"n\": 1}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.get:0<|tool_call_argument_begin|>{\"n\": 1}<|tool_call_end|><|tool_calls_section_end|>",
    "<start_function_call>call:get{city:<escape>Oslo<escape>,n:3,tags:[true]}<end_function_call>",
    "<|tool_call>call:get{city:<|\"|>Oslo<|\"|>,n:3}<tool_call|>",
    "[TOOL_CALLS]get[ARGS]{\"city\": \"Oslo\"}",
    "[TOOL_CALLS][{\"name\": \"get\", \"arguments\": {\"n\": 3}}]",
    "[THINK]well[/THINK]",
    "<|channel|>analysis<|message|>well<|end|><|start|>assistant",
    "<|channel|>commentary to=functions.get <|constrain|>json<|message|>{\"n\": 3}<|call|>",
    "<|channel|>final<|message|>ok<|return|>",
    "<|START_THINKING|>well<|END_THINKING|><|START_ACTION|>[{\"tool_call_id\": \"0\", \"tool_name\": \"get\", \"parameters\": {\"n\": 3}}]<|END_ACTION|>",
    "<|START_RESPONSE|>ok<|END_RESPONSE|>",
    "<|action_start|><|plugin|>{\"name\": \"get\", \"parameters\": {\"n\": 3}}<|action_end|>",
    "<|tools_prefix|>[{\"get\": {\"n\": 3}}]<|tools_suffix|>",
    "<|python_tag|>{\"name\": \"get\", \"parameters\": {\"city\": \"Oslo\"}}; {\"name\": \"set\", \"parameters\": {}}",
    "<|python_start|>[get(city='Oslo')]<|python_end|>",
    "<|tool_call_start|>[get(n=3), set(tags=['a'])]<|tool_call_end|>",
    "<|tool_call|>[{\"name\": \"get\", \"arguments\": {\"n\": 3}}]",
    "functools[{\"name\": \"get\", \"arguments\": {\"n\": 3}}]",
    "<tool_calls>[{\"name\": \"get\", \"arguments\": {\"n\": 3}}]</tool_calls>",
    "<function_calls>get(city=\"Oslo\", n=3)\nset()</function_calls>",
    "<response>\nok\n</response>",
    "[{\"name\": \"get\", \"arguments\": {\"city\": \"Oslo\"}}]",
    "{\"name\": \"get\", \"parameters\": {\"n\": 3}}",
    "{\"city\": \"Oslo\", \"n\": 3}",
    "[get(city='Oslo'), set(n=-3)]",
];

/// The ids of a text in which markers are tokens.
pub fn write_with_markers(text: &str, ids: &mut Vec<u32>) {
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let marker = (FIRST_MARKER..).zip(MARKERS).find(|(_, marker)| rest.starts_with(**marker));
        let length = if let Some((id, marker)) = marker {
            ids.push(id);
            marker.len()
        } else {
            let length = character.len_utf8();
            ids.extend(rest[..length].bytes().map(u32::from));
            length
        };
        rest = &rest[length..];
    }
}

/// The calls that a server's tool-call parser reads, without a reasoning parser before it.
///
/// # Panics
/// Where a parser of the registry reads none: its form is missing from [`CALLS`].
#[must_use]
pub fn native(server: Server) -> Rc<[&'static str]> {
    thread_local! {
        static FOUND: RefCell<HashMap<Server, Rc<[&'static str]>>> = RefCell::default();
    }
    let server = server.without_reasoning();
    let Some(tool) = server.names().0 else { return CALLS.into() };
    if let Some(found) = FOUND.with_borrow(|found| found.get(&server).cloned()) {
        return found;
    }
    let derenderer = server.derenderer();
    let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let tool_of = |name| json!({"type": "function", "function": {"name": name, "parameters": parameters}});
    let tools = ["get", "set"].map(tool_of);
    let request = json!({"messages": [], "tools": tools});
    let is_call = |text: &str| {
        let mut ids = Vec::new();
        write_with_markers(text, &mut ids);
        let request: Value = request.clone();
        let asked = Asked {
            derenderer: &derenderer,
            endpoint: Endpoint::Chat,
            request,
            prompt: None,
            ids: &ids,
            finish_reason: "stop",
            logprobs: false,
            choices: 1,
        };
        asked.whole().is_ok_and(|messages| messages.iter().any(Message::has_calls))
    };
    let calls: Rc<[&str]> = CALLS.iter().copied().filter(|text| is_call(text)).collect();
    assert!(!calls.is_empty(), "no text of CALLS is a call for {tool} with {:?}", server.vocabulary);
    FOUND.with_borrow_mut(|found| found.insert(server, Rc::clone(&calls)));
    calls
}
