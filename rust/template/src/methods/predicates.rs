//! Methods of `str` that ask what kind of characters it has.

use crate::text::{DigitKind, digit_kind, is_cased, is_printable, is_space};

/// The answer of a method that takes no arguments; `None` if there is no such method.
pub(super) fn ask(name: &str, text: &str) -> Option<bool> {
    let all = |test: &dyn Fn(char) -> bool| !text.is_empty() && text.chars().all(test);
    let digits = |most: DigitKind| all(&|c| digit_kind(c).is_some_and(|kind| kind <= most));
    Some(match name {
        "isalnum" => all(&|c| c.is_alphabetic() || digit_kind(c).is_some()),
        "isalpha" => all(&char::is_alphabetic),
        "isascii" => text.is_ascii(),
        "isdecimal" => digits(DigitKind::Decimal),
        "isdigit" => digits(DigitKind::Digit),
        "isnumeric" => digits(DigitKind::Numeric),
        "isidentifier" => {
            text.starts_with(|c: char| c == '_' || c.is_alphabetic())
                && text.chars().all(|c| c == '_' || c.is_alphanumeric())
        }
        "islower" => has_only(text, char::is_lowercase),
        "isupper" => has_only(text, char::is_uppercase),
        "isprintable" => text.chars().all(is_printable),
        "isspace" => all(&is_space),
        "istitle" => is_title(text),
        _ => return None,
    })
}

/// Whether there is a letter with a case, and all such letters pass.
fn has_only(text: &str, passes: fn(char) -> bool) -> bool {
    let mut found = false;
    for character in text.chars().filter(|&c| is_cased(c)) {
        if !passes(character) {
            return false;
        }
        found = true;
    }
    found
}

fn is_title(text: &str) -> bool {
    let mut found = false;
    let mut after_cased = false;
    for character in text.chars() {
        let cased = is_cased(character);
        if cased {
            let capital = !character.is_lowercase();
            if capital == after_cased {
                return false;
            }
            found = true;
        }
        after_cased = cased;
    }
    found
}
