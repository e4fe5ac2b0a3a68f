//! Changes of case, with title case, which the standard library lacks.

use super::character::is_cased;

/// `str.upper()`.
pub(crate) fn uppercased(text: &str) -> String {
    text.to_uppercase()
}

/// `str.lower()`; a final sigma is kept final, as Python does.
pub(crate) fn lowercased(text: &str) -> String {
    text.to_lowercase()
}

/// `str.swapcase()`.
pub(crate) fn swapped_case(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_uppercase() {
            out.extend(character.to_lowercase());
        } else if character.is_lowercase() {
            out.extend(character.to_uppercase());
        } else {
            out.push(character);
        }
    }
    out
}

/// `str.capitalize()`: the first character in title case, the rest in lower case.
pub(crate) fn capitalized(text: &str) -> String {
    let mut characters = text.chars();
    let Some(first) = characters.next() else {
        return String::new();
    };
    let mut out = String::with_capacity(text.len());
    push_title(first, &mut out);
    // The whole text is lowered, so that a final sigma knows what is before it.
    let lowered: String = first.to_lowercase().collect();
    out.push_str(&lowercased(text)[lowered.len()..]);
    out
}

/// `str.title()`: a letter after a letter in lower case, any other in title case.
pub(crate) fn titled(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut word = String::new();
    let mut after_cased = false;
    for character in text.chars() {
        let cased = is_cased(character);
        if after_cased {
            word.push(character);
        } else {
            push_title(character, &mut out);
        }
        if after_cased && !cased {
            out.push_str(&lowercased_tail(&word));
            word.clear();
        }
        after_cased = cased;
    }
    out.push_str(&lowercased_tail(&word));
    out
}

/// Lower case of what follows a letter, so that a sigma at its end is final.
fn lowercased_tail(word: &str) -> String {
    if !word.contains('Σ') {
        return lowercased(word);
    }
    let lowered = lowercased(&format!("a{word}"));
    lowered[1..].to_owned()
}

/// Appends the title case of a character.
fn push_title(character: char, out: &mut String) {
    let code = u32::from(character);
    let title = match code {
        0x1c4..=0x1c6 => Some(0x1c5),
        0x1c7..=0x1c9 => Some(0x1c8),
        0x1ca..=0x1cc => Some(0x1cb),
        0x1f1..=0x1f3 => Some(0x1f2),
        // Georgian letters have no title case of their own.
        0x10d0..=0x10ff => Some(code),
        // Greek letters with a iota below.
        0x1f80..=0x1faf => Some(code | 8),
        0x1fb3 | 0x1fbc => Some(0x1fbc),
        0x1fc3 | 0x1fcc => Some(0x1fcc),
        0x1ff3 | 0x1ffc => Some(0x1ffc),
        _ => None,
    };
    if let Some(title) = title.and_then(char::from_u32) {
        out.push(title);
        return;
    }
    let mut upper = character.to_uppercase();
    out.extend(upper.next());
    // A ligature becomes several letters, of which only the first is a capital.
    for rest in upper {
        if character.is_alphabetic() && rest.is_uppercase() {
            out.extend(rest.to_lowercase());
        } else {
            out.push(rest);
        }
    }
}
