//! `echo` with log-probabilities: entries for the prompt too (ggml-org/llama.cpp#27174).

mod support;

use serde_json::{Value, json};
use support::{Models, shared};

/// "Say something:" and " Hello there" in the tokenizer of `wire__plain__qwen3.jsonl`, where its case `comp_echo` has
/// them.
const PROMPT: [u32; 3] = [45764, 2494, 25];
const OUTPUT: [u32; 2] = [9707, 1052];

fn body(echo: bool, prompt_logprobs: &Value) -> Value {
    let content: Vec<Value> =
        OUTPUT.iter().map(|id| json!({"token_id": id, "logprob": -0.5, "top_logprobs": []})).collect();
    json!({
        "model": "m",
        "generate_responses": [{
            "request_id": "r1",
            "choices": [{
                "index": 0, "token_ids": OUTPUT, "finish_reason": "length", "logprobs": {"content": content},
            }],
            "prompt_logprobs": prompt_logprobs,
        }],
        "prompt_token_ids": [PROMPT],
        "completion_request": {"model": "m", "prompt": "Say something:", "echo": echo, "logprobs": 1},
    })
}

fn prompt_logprobs() -> Value {
    json!([
        null,
        {"2494": {"logprob": -1.5, "rank": 2}, "25": {"logprob": -0.25, "rank": 1}},
        {"25": {"logprob": -1e30, "rank": 1}},
    ])
}

fn choice(body: &Value) -> Option<Value> {
    let served = Models::default().serve(&shared()?, "qwen3", &[], &json!({}))?;
    let answer = served.derenderer.completions(body.to_string().as_bytes()).expect("an answer");
    let answer: Value = serde_json::from_slice(&answer.body).expect("JSON");
    Some(answer["choices"][0].clone())
}

#[test]
fn the_prompt_has_entries_too() {
    let Some(choice) = choice(&body(true, &prompt_logprobs())) else { return };
    assert_eq!(choice["text"], "Say something:Hello there");
    let logprobs = &choice["logprobs"];
    assert_eq!(logprobs["tokens"], json!(["Say", " something", ":", "Hello", " there"]));
    // Nothing stands before the first token; values below the floor are the floor.
    assert_eq!(logprobs["token_logprobs"], json!([null, -1.5, -9999.0, -0.5, -0.5]));
    assert_eq!(logprobs["text_offset"], json!([0, 3, 13, 14, 19]));
    assert_eq!(logprobs["top_logprobs"][0], Value::Null);
    assert_eq!(logprobs["top_logprobs"][1], json!({" something": -1.5, ":": -0.25}));
}

#[test]
fn without_echo_or_without_values_there_are_none() {
    let Some(plain) = choice(&body(false, &prompt_logprobs())) else { return };
    assert_eq!(plain["logprobs"]["tokens"], json!(["Hello", " there"]));
    // As many values as the prompt has ids, or none can be told apart.
    for other in [Value::Null, json!([null])] {
        let choice = choice(&body(true, &other)).expect("the model");
        assert_eq!(choice["text"], "Say something:Hello there");
        assert_eq!(choice["logprobs"]["tokens"], json!(["Hello", " there"]));
        assert_eq!(choice["logprobs"]["text_offset"], json!([14, 19]));
    }
}

#[test]
fn strange_values_do_no_harm() {
    let strange = [json!([1, "a", {}]), json!([{"x": 1}, {"25": null}, {"99999999999": {"logprob": 0}}])];
    for values in strange {
        let Some(choice) = choice(&body(true, &values)) else { return };
        assert_eq!(choice["logprobs"]["token_logprobs"], json!([null, null, null, -0.5, -0.5]));
    }
}
