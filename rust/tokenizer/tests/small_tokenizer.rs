//! Ids and offsets are those of the `tokenizers` library for small tokenizers made here, so nothing beside the
//! repository is needed.

#![expect(clippy::unwrap_used, reason = "a test says so by failing")]

use dragoman_tokenizer::{Encode, Tokenizer};
use serde_json::{Map, Value, json};

#[path = "support/nasty.rs"]
mod nasty;

/// The byte-level alphabet, by the definition in GPT-2's `encoder.py`.
fn alphabet() -> Vec<char> {
    let printable = |byte: &u32| matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    let others: Vec<u32> = (0..256).filter(|byte| !printable(byte)).collect();
    let code = |byte: u32| match others.iter().position(|other| *other == byte) {
        Some(place) => 256 + u32::try_from(place).unwrap(),
        None => byte,
    };
    (0..256).map(|byte| char::from_u32(code(byte)).unwrap()).collect()
}

/// Merges that make each word of a list from left to right, some of which end in the middle of a character.
fn train(tokens: &mut Vec<String>, words: &[&str]) -> Vec<Value> {
    let mut merges = Vec::new();
    for word in words {
        let characters: Vec<String> = word.chars().map(String::from).collect();
        let mut left = characters[0].clone();
        for right in &characters[1..] {
            let made = left.clone() + right;
            if !tokens.contains(&made) {
                merges.push(json!([left, right]));
                tokens.push(made.clone());
            }
            left = made;
        }
    }
    merges
}

fn file(tokens: &[String], merges: &[Value]) -> Value {
    let vocab: Map<String, Value> =
        tokens.iter().enumerate().map(|(id, token)| (token.clone(), json!(id))).collect();
    let token = |content: &str, flags: [bool; 5]| {
        let [single_word, lstrip, rstrip, normalized, special] = flags;
        json!({"id": 9999, "content": content, "single_word": single_word, "lstrip": lstrip, "rstrip": rstrip,
            "normalized": normalized, "special": special})
    };
    json!({"version": "1.0", "truncation": null, "padding": null, "normalizer": null, "pre_tokenizer": null,
        "post_processor": null, "decoder": null,
        "added_tokens": [
            token("<|im_start|>", [false, false, false, false, true]),
            token("<s>", [false, false, false, false, true]),
            token("the", [true, false, false, false, false]),
            token("<think>", [false, true, true, false, false]),
            token("中文", [false, false, false, false, false])],
        "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
            "vocab": vocab, "merges": merges}})
}

fn check(name: &str, file: &Value) {
    let tokenizer = Tokenizer::from_bytes(file.to_string().as_bytes()).unwrap();
    assert!(tokenizer.is_fast(), "{name} is left to the library");
    let mut random = nasty::Random::new(5);
    for _ in 0..3000 {
        let text = random.string(20);
        let expected = Encode::encode(tokenizer.inner(), &text, true, true).unwrap();
        assert_eq!(tokenizer.encode(&text, true, true).unwrap(), expected, "{name}: {text:?}");
        // A second time, from the caches.
        assert_eq!(tokenizer.encode(&text, true, true).unwrap(), expected, "{name}, cached: {text:?}");
        let decoded = tokenizer.inner().decode(&expected.ids, true).unwrap();
        assert_eq!(tokenizer.decode(&expected.ids, true).unwrap(), decoded);
    }
}

#[test]
fn byte_level() {
    let alphabet = alphabet();
    let spell = |word: &str| -> String { word.bytes().map(|byte| alphabet[byte as usize]).collect() };
    let mut tokens: Vec<String> = alphabet.iter().map(|character| String::from(*character)).collect();
    let words = [
        "the",
        " the",
        " word",
        "日本語",
        "中",
        "привет",
        "  ",
        "\n\n",
        "aaaa",
        "é",
        "👩\u{200d}",
        "...",
        "'s",
    ];
    let words: Vec<String> = words.iter().map(|word| spell(word)).collect();
    let merges = train(&mut tokens, &words.iter().map(String::as_str).collect::<Vec<_>>());
    let byte_level = |prefix: bool, regex: bool| json!({"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": true, "use_regex": regex});
    let patterns = [
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ];
    let mut cases = vec![byte_level(false, true), byte_level(true, true), byte_level(false, false)];
    for (pattern, (behavior, invert)) in patterns.into_iter().zip([("Isolated", false), ("Removed", true)]) {
        cases.push(json!({"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": invert},
            byte_level(false, false)]}));
    }
    for pre_tokenizer in cases {
        for (normalizer, whole_words) in [(Value::Null, false), (json!({"type": "NFC"}), true)] {
            let mut file = file(&tokens, &merges);
            file["normalizer"] = normalizer;
            file["model"]["ignore_merges"] = json!(whole_words);
            file["decoder"] = byte_level(true, true);
            file["post_processor"] = json!({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": false, "use_regex": true});
            check(&pre_tokenizer.to_string(), &{
                file["pre_tokenizer"] = pre_tokenizer.clone();
                file
            });
        }
    }
    // A byte without a token is left out.
    let mut file = file(&tokens, &merges);
    file["model"]["vocab"].as_object_mut().unwrap().remove("!");
    file["model"]["vocab"].as_object_mut().unwrap().remove(&String::from(alphabet[0xf0]));
    file["pre_tokenizer"] = byte_level(false, true);
    file["decoder"] = byte_level(true, true);
    file["model"]["merges"]
        .as_array_mut()
        .unwrap()
        .retain(|merge| merge[0] != json!(alphabet[0xf0].to_string()));
    let lost: Vec<Value> = file["model"]["merges"].as_array().unwrap().clone();
    let vocab = file["model"]["vocab"].clone();
    let known = |merge: &Value| {
        let [left, right] = [0, 1].map(|side| merge[side].as_str().unwrap().to_owned());
        [&left, &right, &(left.clone() + &right)].iter().all(|token| vocab.get(token.as_str()).is_some())
    };
    file["model"]["merges"] = lost.into_iter().filter(known).collect();
    check("without some bytes", &file);
}

#[test]
fn sentence_piece() {
    let mut tokens: Vec<String> = vec!["<unk>".into()];
    tokens.extend((0..256).map(|byte| format!("<0x{byte:02X}>")));
    tokens.extend(
        "▁abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.,!'é日本語中".chars().map(String::from),
    );
    let words = ["▁the", "the", "▁word", "▁▁▁▁", "日本", "aaaa", ".▁a", "▁'s", "word"];
    let merges = train(&mut tokens, &words);
    let replace = json!({"type": "Replace", "pattern": {"String": " "}, "content": "▁"});
    let prepend = json!({"type": "Prepend", "prepend": "▁"});
    let metaspace = |scheme: &str, split: bool| json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": split});
    let cases = [
        (replace.clone(), Value::Null),
        (
            replace.clone(),
            json!({"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": false}),
        ),
        (json!({"type": "Sequence", "normalizers": [prepend, replace]}), Value::Null),
        (Value::Null, metaspace("first", true)),
        (Value::Null, metaspace("always", false)),
        (Value::Null, metaspace("never", true)),
    ];
    for (normalizer, pre_tokenizer) in cases {
        let mut file = file(&tokens, &merges);
        let model = &mut file["model"];
        (model["byte_fallback"], model["fuse_unk"], model["unk_token"]) =
            (json!(true), json!(true), json!("<unk>"));
        let name = format!("{normalizer} {pre_tokenizer}");
        (file["normalizer"], file["pre_tokenizer"]) = (normalizer, pre_tokenizer);
        file["decoder"] = json!({"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"},
            {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]});
        file["post_processor"] = json!({"type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [7], "tokens": ["<s>"]}}});
        check(&name, &file);
    }
}
