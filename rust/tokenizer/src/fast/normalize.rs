//! Normalisation: NFC, and what the text of a SentencePiece model goes through.

use unicode_normalization_alignments::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// A text in NFC, and for each of its bytes the range of code points of the original that it comes from.
pub struct Mapped {
    /// The text in NFC.
    pub text: String,
    /// Half-open ranges of code points of the original, `(bytes of text,)`.
    pub places: Vec<[u32; 2]>,
}

/// Whether NFC leaves a text as it is.
pub fn is_nfc(text: &str) -> bool {
    if text.is_ascii() {
        return true;
    }
    match is_nfc_quick(text.chars()) {
        IsNormalized::Yes => true,
        IsNormalized::No => false,
        IsNormalized::Maybe => text.chars().nfc().all(|(_, change)| change == 0),
    }
}

/// A text in NFC. A composed character comes from the first of its parts, as `tokenizers` has it.
pub fn nfc(text: &str) -> Mapped {
    let mut mapped =
        Mapped { text: String::with_capacity(text.len()), places: Vec::with_capacity(text.len()) };
    let mut next = 0_u32;
    for (character, change) in text.chars().nfc() {
        let place = if change > 0 {
            // One that was not there shares the place of the one before.
            if next == 0 { [0, 0] } else { [next - 1, next] }
        } else {
            let place = [next, next + 1];
            next += 1 + u32::try_from(change.unsigned_abs()).unwrap_or_default();
            place
        };
        mapped.text.push(character);
        mapped.places.extend(std::iter::repeat_n(place, character.len_utf8()));
    }
    mapped
}
