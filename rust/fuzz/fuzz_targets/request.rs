//! Any body for the render endpoints: an answer of JSON or an error that is the client's, and never a panic.

#![no_main]

use arbitrary::Arbitrary;
use dragoman_fuzz::request::Body;
use dragoman_fuzz::serving::renderer;
use dragoman_protocol::Result;
use dragoman_render::Renderer;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

thread_local! {
    static RENDERER: Renderer = renderer();
}

#[derive(Debug, Arbitrary)]
enum Endpoint {
    Chat,
    Completions,
    Messages,
    Responses,
    Tokenize,
    Detokenize,
}

fn ask(renderer: &Renderer, endpoint: &Endpoint, body: &[u8]) -> Result<Vec<u8>> {
    match endpoint {
        Endpoint::Chat => renderer.chat(body, None),
        Endpoint::Completions => renderer.completions(body, None),
        Endpoint::Messages => renderer.anthropic_messages(body, None),
        Endpoint::Responses => renderer.responses(body, None),
        Endpoint::Tokenize => renderer.tokenize(body),
        Endpoint::Detokenize => renderer.detokenize(body),
    }
}

fuzz_target!(|input: (Endpoint, Body)| {
    let (endpoint, body) = input;
    let body = body.bytes();
    match RENDERER.with(|renderer| ask(renderer, &endpoint, &body)) {
        Ok(answer) => {
            let answer: Value = serde_json::from_slice(&answer).expect("JSON");
            if let Some(mask) = answer["assistant_tokens_mask"].as_array() {
                assert_eq!(Some(mask.len()), answer["token_ids"].as_array().map(Vec::len));
            }
        }
        Err(error) => assert_ne!(error.kind(), "internal", "{error}"),
    }
});
