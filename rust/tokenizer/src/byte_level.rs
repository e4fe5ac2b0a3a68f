//! The alphabet in which byte-level BPE writes bytes as printable characters (GPT-2's table).

/// Appends the bytes of a token. A token with a character outside the alphabet stands for its own text.
pub(crate) fn decode(token: &str, bytes: &mut Vec<u8>) {
    let start = bytes.len();
    for character in token.chars() {
        if let Some(byte) = byte_of(character) {
            bytes.push(byte);
        } else {
            bytes.truncate(start);
            bytes.extend_from_slice(token.as_bytes());
            return;
        }
    }
}

/// The byte of a character. Printable Latin-1 characters stand for themselves; the 68 others follow from U+0100 on.
fn byte_of(character: char) -> Option<u8> {
    let code = u32::from(character);
    match code {
        0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff => u8::try_from(code).ok(),
        0x100..=0x120 => u8::try_from(code - 0x100).ok(),
        0x121..=0x142 => u8::try_from(code - 0x121 + 0x7f).ok(),
        0x143 => Some(0xad),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every byte has a character: the table of OpenAI's GPT-2 `encoder.py`, `bytes_to_unicode`.
    #[test]
    fn the_alphabet_covers_every_byte_once() {
        let mut seen: Vec<u8> = (0x21..=0x143).filter_map(char::from_u32).filter_map(byte_of).collect();
        seen.sort_unstable();
        assert_eq!(seen, (0..=255).collect::<Vec<u8>>());
        assert_eq!(byte_of('Ġ'), Some(b' '));
        assert_eq!(byte_of('Ċ'), Some(b'\n'));
    }

    #[test]
    fn a_token_outside_the_alphabet_is_its_own_text() {
        let mut bytes = b"x".to_vec();
        decode("<｜end▁of▁sentence｜>", &mut bytes);
        assert_eq!(bytes, "x<｜end▁of▁sentence｜>".as_bytes());
    }
}
