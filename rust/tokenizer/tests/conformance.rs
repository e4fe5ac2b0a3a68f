//! `shared/conformance/tokenization`: ids, offsets and decodes of five tokenizers, from HF.

#![expect(clippy::unwrap_used, reason = "a test says so by failing")]

use std::path::PathBuf;

use dragoman_tokenizer::Tokenizer;
use serde_json::Value;

fn shared() -> Option<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let required = std::env::var("DRAGOMAN_REQUIRE_SHARED").is_ok_and(|value| value == "1");
    assert!(folder.is_dir() || !required, "DRAGOMAN_REQUIRE_SHARED is 1, and there is no ../shared");
    folder.is_dir().then_some(folder)
}

fn check(model: &str) {
    let Some(shared) = shared() else {
        println!("no ../shared beside the repository: {model} not checked");
        return;
    };
    let tokenizer = Tokenizer::from_file(&shared.join("models").join(model).join("tokenizer.json")).unwrap();
    let cases =
        std::fs::read_to_string(shared.join(format!("conformance/tokenization/{model}.jsonl"))).unwrap();
    let mut faults = Vec::new();
    for line in cases.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let ids = |key: &str| -> Vec<u32> { serde_json::from_value(case[key].clone()).unwrap() };
        let text = case["text"].as_str().unwrap();
        let expected_offsets: Vec<[u32; 2]> = serde_json::from_value(case["offsets"].clone()).unwrap();
        let plain = tokenizer.encode(text, false, false).unwrap();
        let placed = tokenizer.encode(text, false, true).unwrap();
        let special = tokenizer.encode(text, true, false).unwrap();
        let checks = [
            ("ids", plain.ids == ids("ids") && placed.ids == plain.ids),
            ("offsets", placed.offsets == expected_offsets),
            ("ids_with_special", special.ids == ids("ids_with_special")),
            ("decoded", tokenizer.decode(&ids("ids"), false).unwrap() == case["decoded"].as_str().unwrap()),
            (
                "decoded_skip",
                tokenizer.decode(&ids("ids"), true).unwrap() == case["decoded_skip"].as_str().unwrap(),
            ),
        ];
        faults.extend(checks.iter().filter(|(_, holds)| !holds).map(|(what, _)| format!("{what}: {text:?}")));
    }
    assert!(faults.is_empty(), "{} faults with {model}:\n{}", faults.len(), faults.join("\n"));
}

macro_rules! models {
    ($($model:ident),*) => { $(#[test] fn $model() { check(stringify!($model)); })* };
}

models!(qwen3, llama3, deepseek, gemma3, smollm2);
