//! Tokens back to text, for the decoders that most tokenizers have.

use serde_json::Value;

use super::cutter::BLANK;
use crate::byte_level;

/// A decoder of a known kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decoder {
    /// `ByteLevel`.
    Bytes,
    /// `▁` to blanks, byte tokens to characters, all joined, and up to `strip` blanks taken off the front.
    Pieces { strip: usize },
}

impl Decoder {
    /// Reads a decoder as `tokenizers` writes it; none for one that is not known here.
    pub fn read(decoder: &Value) -> Option<Self> {
        let kind = |step: &Value| step.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        if kind(decoder) == "ByteLevel" {
            return Some(Self::Bytes);
        }
        let steps = decoder.get("decoders")?.as_array()?;
        let kinds: Vec<String> = steps.iter().map(kind).collect();
        let kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
        let strip = match *kinds.as_slice() {
            ["Replace", "ByteFallback", "Fuse"] => 0,
            ["Replace", "ByteFallback", "Fuse", "Strip"]
                if steps[3]["content"] == " " && steps[3]["stop"] == 0 =>
            {
                usize::try_from(steps[3]["start"].as_u64()?).ok()?
            }
            _ => return None,
        };
        let replaces = steps[0]["pattern"]["String"] == BLANK.to_string() && steps[0]["content"] == " ";
        replaces.then_some(Self::Pieces { strip })
    }

    /// The text of tokens.
    pub fn decode<'t>(self, tokens: impl Iterator<Item = &'t str>) -> String {
        match self {
            Self::Bytes => {
                let mut bytes = Vec::new();
                tokens.for_each(|token| byte_level::decode(token, &mut bytes));
                String::from_utf8(bytes)
                    .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
            }
            Self::Pieces { strip } => {
                let (mut text, mut bytes) = (String::new(), Vec::new());
                for token in tokens {
                    if let Some(byte) = byte_of(token) {
                        bytes.push(byte);
                        continue;
                    }
                    push_bytes(&mut text, &mut bytes);
                    text.extend(
                        token.chars().map(|character| if character == BLANK { ' ' } else { character }),
                    );
                }
                push_bytes(&mut text, &mut bytes);
                let blanks = text.bytes().take(strip).take_while(|&byte| byte == b' ').count();
                text.drain(..blanks);
                text
            }
        }
    }
}

/// The byte of a byte token, such as `<0x0A>`.
fn byte_of(token: &str) -> Option<u8> {
    let digits = token.strip_prefix("<0x")?.strip_suffix('>')?;
    if digits.len() == 2 { u8::from_str_radix(digits, 16).ok() } else { None }
}

/// Appends a run of byte tokens: its characters if it is UTF-8, else a replacement character for each byte.
fn push_bytes(text: &mut String, bytes: &mut Vec<u8>) {
    match std::str::from_utf8(bytes) {
        Ok(characters) => text.push_str(characters),
        Err(_) => text.extend(bytes.iter().map(|_| char::REPLACEMENT_CHARACTER)),
    }
    bytes.clear();
}
