//! Decoders that the detokenizer has no fast path for. The reference is the `tokenizers` library's own decode.

mod support;

use std::sync::Arc;

use dragoman_derender::Derenderer;
use dragoman_protocol::ServingConfig;
use dragoman_tokenizer::{Decoding, Tokenizer, Vocabulary};
use serde_json::{Map, Value, json};
use support::{Message, Output, Served};

const SPECIAL: &str = "[SEP]";

/// A tokenizer of these words and one special token, with the decoder.
fn tokenizer(words: &[&str], decoder: &Value) -> Vec<u8> {
    let vocabulary: Map<String, Value> =
        words.iter().enumerate().map(|(id, word)| ((*word).to_owned(), json!(id))).collect();
    let special = json!({"id": words.len(), "content": SPECIAL, "special": true, "single_word": false,
        "lstrip": false, "rstrip": false, "normalized": false});
    let text = json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [special], "normalizer": null,
        "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null, "decoder": decoder,
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": words[0]},
    });
    text.to_string().into_bytes()
}

fn serve(tokenizer: Tokenizer) -> Served {
    let tokenizer = Arc::new(tokenizer);
    let settings = json!({
        "served_model_names": ["m"], "max_model_len": 100_000, "vocab_size": tokenizer.vocab_size(),
        "max_logprobs": 20, "default_sampling": {}, "eos_token_ids": [],
        "chat_template_content_format": "auto", "default_chat_template_kwargs": {},
        "trust_request_chat_template": false, "tool_call_parser": null, "reasoning_parser": null,
        "enable_auto_tool_choice": false, "tokens_only": false, "stream_state_key": vec![7u8; 16], "bounds": {},
    });
    let config = ServingConfig::from_json(settings.to_string().as_bytes()).expect("settings");
    let derenderer = Derenderer::new(Arc::clone(&tokenizer), Arc::new(config)).expect("a derenderer");
    Served { derenderer, eos: Vec::new(), tokenizer }
}

/// Sequences of ids below `count`: the same in every run (Knuth's MMIX generator).
fn sequences(count: usize) -> impl Iterator<Item = Vec<u32>> {
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = move |bound: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).expect("a small number") % bound
    };
    (0..60).map(move |_| (0..=next(24)).map(|_| u32::try_from(next(count)).expect("an id")).collect())
}

fn check(words: &[&str], decoder: &Value) {
    let bytes = tokenizer(words, decoder);
    let reference: tokenizers::Tokenizer = serde_json::from_slice(&bytes).expect("a tokenizer");
    let ours = Tokenizer::from_bytes(&bytes).expect("a tokenizer");
    assert_eq!(Vocabulary::new(&ours).decoding(), Decoding::Generic, "{decoder} has a fast path");
    let served = serve(ours);
    // Some decoders of the library cannot do without a token.
    let special = u32::try_from(words.len()).expect("an id");
    let text = |ids: &[u32]| {
        let is_blank = ids.iter().all(|&id| id == special);
        if is_blank { String::new() } else { reference.decode(ids, true).expect("a text") }
    };
    for (prompt, ids) in sequences(words.len() + 1).zip(sequences(words.len() + 1).skip(7)) {
        for prompt in [&[][..], &prompt] {
            let wanted = text(&[prompt, &ids].concat());
            let before = text(prompt);
            let wanted = wanted.strip_prefix(&before).expect("a text that goes on");
            let common = json!({"model": "m", "prompt_token_ids": prompt});
            let output = Output {
                ids: ids.iter().map(|&id| json!(id)).collect(),
                finish_reason: json!("stop"),
                stop_reason: Value::Null,
                common: common.as_object().cloned().expect("an object"),
                served: &served,
            };
            let whole = Message::of_answer(&output.whole().expect("an answer"));
            assert_eq!(whole.content, wanted, "{decoder}: {ids:?} behind {prompt:?}");
            for sizes in [&[1][..], &[2], &[3], &[1, 4, 2]] {
                let (streamed, _) = output.streamed(sizes).expect("a stream");
                assert_eq!(streamed, whole, "{decoder}: {ids:?} behind {prompt:?} in chunks of {sizes:?}");
            }
        }
    }
}

#[test]
fn word_pieces() {
    let words = ["[UNK]", "hello", "world", "##s", "##ly", "天", "é", ",", "do", "n't", "'s", ".", "👩"];
    check(&words, &json!({"type": "WordPiece", "prefix": "##", "cleanup": false}));
    check(&words, &json!({"type": "WordPiece", "prefix": "##", "cleanup": true}));
}

#[test]
fn pieces_with_an_end_of_word() {
    let words = ["<unk>", "hello</w>", "wor", "ld</w>", "天", "é</w>", ",</w>"];
    check(&words, &json!({"type": "BPEDecoder", "suffix": "</w>"}));
}

#[test]
fn pieces_with_a_blank_of_their_own() {
    let words = ["<unk>", "_hello", "_wor", "ld", "天", "_", "_é"];
    check(
        &words,
        &json!({"type": "Metaspace", "replacement": "_", "prepend_scheme": "always", "split": true}),
    );
}

#[test]
fn replaced_and_fused_pieces() {
    let words = ["<unk>", "~hello", "~wor", "ld", "天", "~", "~~é"];
    let steps = json!([{"type": "Replace", "pattern": {"String": "~"}, "content": " "}, {"type": "Fuse"}]);
    check(&words, &json!({"type": "Sequence", "decoders": steps}));
}
