//! What a chunk costs early and late in a stream, what a whole answer costs, and how fast ids become text.
//!
//! `cargo bench -p dragoman-derender` prints the numbers; it needs the models of `../shared`.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use dragoman_derender::Derenderer;
use dragoman_derender::detok::Detokenizer;
use dragoman_protocol::ServingConfig;
use dragoman_tokenizer::{Tokenizer, Vocabulary};
use serde_json::{Value, json};

fn derenderer(tokenizer: &Arc<Tokenizer>) -> Derenderer {
    let settings = json!({
        "served_model_names": ["m"], "max_model_len": 100_000, "vocab_size": 151_936, "max_logprobs": 20,
        "default_sampling": {}, "eos_token_ids": [151_645], "chat_template_content_format": "auto",
        "default_chat_template_kwargs": {}, "trust_request_chat_template": false, "tool_call_parser": "hermes",
        "reasoning_parser": "qwen3", "enable_auto_tool_choice": true, "tokens_only": false, "stream_state_key": vec![7u8; 16], "bounds": {},
    });
    let config = ServingConfig::from_json(settings.to_string().as_bytes()).expect("settings");
    Derenderer::new(Arc::clone(tokenizer), Arc::new(config)).expect("a derenderer")
}

fn request() -> Value {
    json!({"messages": [{"role": "user", "content": "x"}], "tools": [
        {"type": "function", "function": {"name": "run_code", "parameters": {"type": "object",
            "properties": {"code": {"type": "string"}}}}}]})
}

/// Microseconds per call, the median of many.
fn median(mut work: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..301)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn chunk(ids: &[u32], state: &Value) -> Vec<u8> {
    json!({"stream": true, "chat_request": request(), "stream_state": state,
        "generate_chunk": {"request_id": "r", "choices": [{"index": 0, "token_ids": ids}]}})
    .to_string()
    .into_bytes()
}

fn stream(derenderer: &Derenderer, what: &str, ids: &[u32]) {
    let mut state = Value::Null;
    let mut costs = Vec::new();
    for (place, id) in ids.iter().enumerate().take(4001) {
        let body = chunk(&[*id], &state);
        if matches!(place, 100 | 1000 | 4000) {
            let microseconds = median(|| {
                black_box(derenderer.chat(&body).expect("an answer"));
            });
            costs.push((place, microseconds, body.len()));
        }
        let answer: Value =
            serde_json::from_slice(&derenderer.chat(&body).expect("an answer").body).expect("JSON");
        state = answer["stream_state"].clone();
    }
    for (place, microseconds, bytes) in costs {
        println!("chunk in {what} at token {place:5}: {microseconds:7.1} us, request of {bytes} bytes");
    }
}

fn main() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/models/qwen3/tokenizer.json");
    let Ok(tokenizer) = Tokenizer::from_file(&path) else {
        println!("no ../shared: nothing is measured");
        return;
    };
    let tokenizer = Arc::new(tokenizer);
    let derenderer = derenderer(&tokenizer);
    let ids = |text: &str| tokenizer.encode(text, false, false).expect("ids").ids;
    let prose =
        ids(&("</think>".to_owned() + &"Retry budgets cap extra load, 先搜索，再执行。 ".repeat(400)));
    stream(&derenderer, "prose", &prose);
    let argument = "</think><tool_call>{\"name\": \"run_code\", \"arguments\": {\"code\": \"".to_owned();
    stream(&derenderer, "an argument", &ids(&(argument.clone() + &"print('hi') # {x}\\n".repeat(600))));

    let call = "\"}}</tool_call>";
    let whole = ids(&(argument + &"print('hi') # {x}\\n".repeat(140) + call));
    let whole = &whole[..whole.len().min(1000)];
    let body = json!({"chat_request": request(), "generate_response": {"request_id": "r",
        "choices": [{"index": 0, "token_ids": whole, "finish_reason": "stop"}]}});
    let body = body.to_string().into_bytes();
    let microseconds = median(|| {
        black_box(derenderer.chat(&body).expect("an answer"));
    });
    println!("one-shot of {} tokens, hermes and qwen3: {microseconds:.1} us", whole.len());

    let vocabulary = Arc::new(Vocabulary::new(&tokenizer));
    let detokenizer = Detokenizer::new(Arc::clone(&tokenizer), vocabulary);
    let microseconds = median(|| {
        let (mut state, mut text) = (detokenizer.start(&[]), String::new());
        for &id in &prose {
            detokenizer.push(&mut state, id, &mut text);
        }
        black_box(text);
    });
    #[expect(clippy::cast_precision_loss, reason = "a small count")]
    let rate = prose.len() as f64 / microseconds;
    println!("detokenization: {rate:.1} million tokens a second");
}
