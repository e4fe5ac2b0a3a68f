//! Ids and offsets are those of the `tokenizers` library, for random strings and all tokenizers at hand.

#![expect(clippy::unwrap_used, reason = "a test says so by failing")]

use std::path::PathBuf;

use dragoman_tokenizer::{Encode, Tokenizer};
use serde_json::{Value, json};

#[path = "support/nasty.rs"]
mod nasty;

const STRINGS: usize = if cfg!(debug_assertions) { 1500 } else { 15_000 };

fn model(name: &str) -> Option<Value> {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/models").join(name);
    let text = std::fs::read(file.join("tokenizer.json")).ok()?;
    Some(serde_json::from_slice(&text).unwrap())
}

fn check(name: &str, file: &Value) {
    let tokenizer = Tokenizer::from_bytes(file.to_string().as_bytes()).unwrap();
    assert!(tokenizer.is_fast(), "{name} is left to the library");
    let mut random = nasty::Random::new(7);
    for round in 0..STRINGS {
        let text = random.string(if round % 50 == 0 { 400 } else { 12 });
        for special in [false, true] {
            let expected = Encode::encode(tokenizer.inner(), &text, special, true).unwrap();
            let found = tokenizer.encode(&text, special, true).unwrap();
            assert_eq!(found.ids, expected.ids, "{name}, special {special}: ids of {text:?}");
            assert_eq!(found, expected, "{name}, special {special}: {text:?}");
            let plain = tokenizer.encode(&text, special, false).unwrap();
            assert_eq!(plain.ids, expected.ids, "{name}: without offsets, {text:?}");
        }
    }
    decodes(name, &tokenizer, &mut random);
    for id in 0..u32::try_from(tokenizer.vocab_size()).unwrap() + 2 {
        let token = tokenizer.inner().id_to_token(id);
        assert_eq!(tokenizer.token(id), token, "{name}: {id}");
        if let Some(token) = token {
            assert_eq!(tokenizer.id(&token), tokenizer.inner().token_to_id(&token), "{name}: {token}");
        }
    }
    let mut library: Vec<_> = tokenizer.inner().get_added_tokens_decoder().into_iter().collect();
    library.sort_unstable_by_key(|(id, _)| *id);
    let library: Vec<_> = library.into_iter().map(|(id, token)| (id, token.into())).collect();
    assert_eq!(tokenizer.added_tokens(), library);
}

/// Random ids, which are seldom UTF-8, decode as in the library.
fn decodes(name: &str, tokenizer: &Tokenizer, random: &mut nasty::Random) {
    let bound = tokenizer.vocab_size() + 2;
    for round in 0..STRINGS {
        // The first ids hold most special tokens, bytes and single characters.
        let bound = if round % 2 == 0 { bound.min(600) } else { bound };
        let ids: Vec<u32> =
            (0..random.below(12)).map(|_| u32::try_from(random.below(bound)).unwrap()).collect();
        for skip in [false, true] {
            let expected = tokenizer.inner().decode(&ids, skip).unwrap();
            assert_eq!(tokenizer.decode(&ids, skip).unwrap(), expected, "{name}, skip {skip}: {ids:?}");
        }
    }
}

fn check_model(name: &str, change: impl FnOnce(&mut Value)) {
    let Some(mut file) = model(name) else {
        println!("no ../shared beside the repository: {name} not checked");
        return;
    };
    change(&mut file);
    check(name, &file);
}

#[test]
fn qwen3() {
    check_model("qwen3", |_| ());
}

#[test]
fn llama3() {
    check_model("llama3", |_| ());
}

#[test]
fn deepseek() {
    check_model("deepseek", |_| ());
}

#[test]
fn gemma3() {
    check_model("gemma3", |_| ());
}

#[test]
fn smollm2() {
    check_model("smollm2", |_| ());
}

#[test]
fn gptoss() {
    check_model("gptoss", |_| ());
}

#[test]
fn digits_before_byte_level() {
    for individual in [false, true] {
        check_model("smollm2", |file| {
            file["pre_tokenizer"] = json!({"type": "Sequence", "pretokenizers": [
                {"type": "Digits", "individual_digits": individual},
                {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}]});
        });
    }
}

#[test]
fn a_blank_in_front_with_nfc_and_every_flag_of_added_tokens() {
    check_model("smollm2", |file| {
        file["normalizer"] = json!({"type": "NFC"});
        file["pre_tokenizer"]["add_prefix_space"] = json!(true);
        let flags = [("the", true, false, false, false), ("<|im_start|>", false, true, true, false)];
        let more = [
            ("中文", false, false, false, true),
            ("é", true, false, true, true),
            ("ß", false, true, false, true),
        ];
        for (number, (content, word, left, right, normalized)) in flags.into_iter().chain(more).enumerate() {
            let tokens = file["added_tokens"].as_array_mut().unwrap();
            tokens.retain(|token| token["content"] != content);
            tokens
                .push(json!({"id": 60_000 + number, "content": content, "single_word": word, "lstrip": left,
                "rstrip": right, "normalized": normalized, "special": number % 2 == 0}));
        }
    });
}

#[test]
fn sentence_piece_with_a_blank_in_front() {
    let replace = json!({"type": "Replace", "pattern": {"String": " "}, "content": "▁"});
    let metaspace = |scheme: &str, split: bool| json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": split});
    let kinds = [
        (
            json!({"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, replace]}),
            Value::Null,
        ),
        (replace.clone(), metaspace("first", false)),
        (Value::Null, metaspace("always", true)),
        (Value::Null, metaspace("never", true)),
    ];
    for (normalizer, pre_tokenizer) in kinds {
        check_model("gemma3", |file| {
            file["normalizer"] = normalizer;
            file["pre_tokenizer"] = pre_tokenizer;
            file["post_processor"] = json!({"type": "TemplateProcessing",
                "single": [{"SpecialToken": {"id": "<bos>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                    {"SpecialToken": {"id": "<eos>", "type_id": 0}}],
                "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
                "special_tokens": {"<bos>": {"id": "<bos>", "ids": [2], "tokens": ["<bos>"]},
                    "<eos>": {"id": "<eos>", "ids": [1], "tokens": ["<eos>"]}}});
        });
    }
}

/// Words too long for the quadratic way, and for the caches.
#[test]
fn long_words() {
    let names = ["qwen3", "gemma3", "gptoss"];
    for (name, file) in names.into_iter().filter_map(|name| Some((name, model(name)?))) {
        let tokenizer = Tokenizer::from_bytes(file.to_string().as_bytes()).unwrap();
        let mut random = nasty::Random::new(11);
        let mut letters = String::new();
        for _ in 0..40_000 {
            letters.push(char::from(b'a' + u8::try_from(random.below(26)).unwrap()));
        }
        let texts = [
            "a".repeat(30_000),
            "的了是".repeat(10_000),
            "e\u{301}\u{323}".repeat(9000),
            "  \n".repeat(9000),
        ];
        for text in texts.iter().chain([&letters]) {
            let expected = Encode::encode(tokenizer.inner(), text, false, true).unwrap();
            assert_eq!(tokenizer.encode(text, false, true).unwrap(), expected, "{name}: {:?}…", &text[..9]);
        }
    }
}

/// Whatever is not known exactly is left to the library.
#[test]
fn what_is_not_known_is_left_to_the_library() {
    let Some(file) = model("smollm2") else { return };
    let changes: [(&str, Value); 8] = [
        ("/normalizer", json!({"type": "NFKC"})),
        ("/normalizer", json!({"type": "Lowercase"})),
        ("/pre_tokenizer", json!({"type": "Whitespace"})),
        (
            "/pre_tokenizer",
            json!({"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": "[a-z]+"}, "behavior": "Isolated", "invert": false},
            {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}]}),
        ),
        ("/post_processor", json!({"type": "BertProcessing", "sep": ["a", 1], "cls": ["b", 2]})),
        ("/model/dropout", json!(0.1)),
        ("/model/unk_token", json!("<|endoftext|>")),
        ("/model/end_of_word_suffix", json!("</w>")),
    ];
    for (pointer, value) in changes {
        let mut file = file.clone();
        *file.pointer_mut(pointer).unwrap() = value.clone();
        // Some of these the library refuses.
        let Ok(tokenizer) = Tokenizer::from_bytes(file.to_string().as_bytes()) else { continue };
        assert!(!tokenizer.is_fast(), "{pointer} {value}");
        if pointer == "/model/dropout" {
            // Its ids are random.
            continue;
        }
        let text = "Hello there, 123 words";
        let expected = Encode::encode(tokenizer.inner(), text, true, true);
        assert_eq!(tokenizer.encode(text, true, true).ok(), expected.ok());
    }
}
