//! A byte-level tokenizer of 256 bytes and the markers, made in code: the targets read no files.

use dragoman_tokenizer::Tokenizer;
use serde_json::{Map, Value, json};

/// What parsers and templates look for. In a vocabulary of [`Vocabulary::Markers`] each is a special token.
pub const MARKERS: &[&str] = &[
    "<think>",
    "</think>",
    "<seed:think>",
    "</seed:think>",
    "[THINK]",
    "[/THINK]",
    "<response>",
    "</response>",
    "<answer>",
    "</answer>",
    "<tool_call>",
    "</tool_call>",
    "<tool_calls>",
    "</tool_calls>",
    "<seed:tool_call>",
    "</seed:tool_call>",
    "<minimax:tool_call>",
    "</minimax:tool_call>",
    "<function_calls>",
    "</function_calls>",
    "<start_function_call>",
    "<end_function_call>",
    "<escape>",
    "<arg_key>",
    "</arg_key>",
    "<arg_value>",
    "</arg_value>",
    "<|\"|>",
    "<|tool_call>",
    "<tool_call|>",
    "<|channel>",
    "<channel|>",
    "<|START_THINKING|>",
    "<|END_THINKING|>",
    "<|START_RESPONSE|>",
    "<|END_RESPONSE|>",
    "<|START_ACTION|>",
    "<|END_ACTION|>",
    "<|START_TEXT|>",
    "<|END_TEXT|>",
    "<|action_start|>",
    "<|action_end|>",
    "<|plugin|>",
    "<|interpreter|>",
    "<|inner_prefix|>",
    "<|inner_suffix|>",
    "<|tools_prefix|>",
    "<|tools_suffix|>",
    "<|python_tag|>",
    "<|python_start|>",
    "<|python_end|>",
    "<|tool_call|>",
    "<|tool_call_start|>",
    "<|tool_call_begin|>",
    "<|tool_call_argument_begin|>",
    "<|tool_call_end|>",
    "<|tool_calls_section_begin|>",
    "<|tool_calls_section_end|>",
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁calls▁end｜>",
    "<｜tool▁call▁begin｜>",
    "<｜tool▁call▁end｜>",
    "<｜tool▁sep｜>",
    "<｜tool_calls_begin｜>",
    "<｜tool_calls_end｜>",
    "<｜tool_call_begin｜>",
    "<｜tool_call_end｜>",
    "<｜tool_sep｜>",
    "[TOOL_CALLS]",
    "[CALL_ID]",
    "[ARGS]",
    "<|start|>",
    "<|channel|>",
    "<|message|>",
    "<|constrain|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|im_start|>",
    "<|im_end|>",
];

/// The id of the first marker; the others follow.
pub const FIRST_MARKER: u32 = 256;
/// The token that ends a turn, in both vocabularies: the one after the markers.
pub const EOS: u32 = 336;
const _: () = assert!(MARKERS.len() == (EOS - FIRST_MARKER) as usize);
/// One more than the highest id.
pub const SIZE: u32 = EOS + 1;

/// Whether markers are special tokens or text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, arbitrary::Arbitrary)]
pub enum Vocabulary {
    /// Bytes, and each marker as a special token.
    Markers,
    /// Bytes and the end-of-turn token: markers are spelled out. Their ids are ordinary tokens of their texts.
    Bytes,
}

/// The character that stands for each byte, by the definition in GPT-2's `encoder.py`.
fn alphabet() -> Vec<char> {
    let mut others = (256..).filter_map(char::from_u32);
    let printable = |byte: &u8| matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    (0..=255u8)
        .map(|byte| if printable(&byte) { char::from(byte) } else { others.next().unwrap_or_default() })
        .collect()
}

/// The tokenizer: byte `b` has the id `b`.
///
/// # Panics
/// Where the tokenizer crate refuses it: a fault to find.
#[must_use]
pub fn tokenizer(vocabulary: Vocabulary) -> Tokenizer {
    let alphabet = alphabet();
    let mut tokens: Map<String, Value> =
        alphabet.iter().enumerate().map(|(id, character)| (character.to_string(), json!(id))).collect();
    let mut added = Vec::new();
    for (id, marker) in (FIRST_MARKER..).zip(MARKERS.iter().chain(&["<eos>"])) {
        if vocabulary == Vocabulary::Markers || id == EOS {
            added.push(json!({"id": id, "content": marker, "single_word": false, "lstrip": false,
                "rstrip": false, "normalized": false, "special": true}));
            tokens.insert((*marker).to_owned(), json!(id));
        } else {
            let spelled: String = marker.bytes().map(|byte| alphabet[usize::from(byte)]).collect();
            tokens.insert(spelled, json!(id));
        }
    }
    let byte_level =
        json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false});
    let file = json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": added, "normalizer": null,
        "pre_tokenizer": byte_level, "post_processor": null, "decoder": byte_level,
        "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "vocab": tokens, "merges": []},
    });
    Tokenizer::from_bytes(file.to_string().as_bytes()).expect("a tokenizer")
}
