//! `echo` of a completion: the prompt's text in front of the output, and its log-probabilities in front of those of the
//! output.

use dragoman_protocol::generate_response::GenerateResponse;
use serde_json::{Map, Value, json};

use crate::derenderer::Derenderer;
use crate::logprobs::{remember, token_text};
use crate::options::{Options, to_value};

/// The lowest value that an answer holds, as for generated tokens.
const FLOOR: f64 = -9999.0;

/// The members of the completions shape: parallel lists.
const LISTS: [&str; 4] = ["text_offset", "token_logprobs", "tokens", "top_logprobs"];

/// The prompt's text, where the request wants it in front.
pub fn text(derenderer: &Derenderer, options: &Options, prompt: &[u32]) -> String {
    if !options.echo {
        return String::new();
    }
    derenderer.tokenizer.decode(prompt, options.skip_special_tokens).unwrap_or_default()
}

/// Puts the prompt's entries in front of those of the output, where the request echoes, the output has entries, and the
/// engine gave `prompt_logprobs` for each id of the prompt. The first id has no value: nothing stands before it.
///
/// Offsets count the characters of the echoed text: a special token that is not shown has none.
pub fn prepend(
    derenderer: &Derenderer,
    options: &Options,
    prompt: &[u32],
    response: &GenerateResponse<'_, '_>,
    logprobs: Value,
) -> Value {
    let Value::Object(mut lists) = logprobs else { return logprobs };
    let entries = response.prompt_logprobs.map(to_value).unwrap_or_default();
    let Some(entries) = entries.as_array().filter(|entries| entries.len() == prompt.len()) else {
        return Value::Object(lists);
    };
    if !options.echo || prompt.is_empty() {
        return Value::Object(lists);
    }
    let (mut context, mut offset) = (Vec::new(), 0usize);
    let mut front: [Vec<Value>; 4] = Default::default();
    for (&id, entry) in prompt.iter().zip(entries) {
        let text = token_text(&derenderer.detokenizer, &context, id);
        let values: Vec<(u32, f64)> =
            entry.as_object().into_iter().flatten().filter_map(alternative).collect();
        let own = values.iter().find(|value| value.0 == id).map(|value| value.1);
        let mut top = Map::new();
        for &(id, value) in &values {
            top.insert(token_text(&derenderer.detokenizer, &context, id), json!(value));
        }
        let top = if top.is_empty() { Value::Null } else { Value::Object(top) };
        let hidden = options.skip_special_tokens && derenderer.vocabulary.is_special(id);
        let length = if hidden { 0 } else { text.chars().count() };
        for (list, value) in front.iter_mut().zip([json!(offset), json!(own), json!(text), top]) {
            list.push(value);
        }
        offset += length;
        remember(&mut context, &[id]);
    }
    for (name, mut front) in LISTS.into_iter().zip(front) {
        if let Some(Value::Array(list)) = lists.get_mut(name) {
            front.append(list);
            *list = front;
        }
    }
    Value::Object(lists)
}

/// An id and its value in an entry of `prompt_logprobs`: `"ID": {"logprob": VALUE, ...}`.
fn alternative((id, value): (&String, &Value)) -> Option<(u32, f64)> {
    Some((id.parse().ok()?, value.get("logprob")?.as_f64()?.max(FLOOR)))
}
