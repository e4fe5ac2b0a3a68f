//! Escapes in string literals.

use std::fmt::Write as _;

/// A string literal's text, with escapes resolved as Python's `unicode-escape` codec does. `None` if malformed.
pub(crate) fn unescaped(source: &str) -> Option<String> {
    let mut out = String::with_capacity(source.len());
    let mut characters = source.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            out.push(character);
            continue;
        }
        let escape = characters.next()?;
        match escape {
            '\n' => {}
            '\\' | '\'' | '"' => out.push(escape),
            'a' => out.push('\u{7}'),
            'b' => out.push('\u{8}'),
            'f' => out.push('\u{c}'),
            'n' => out.push('\n'),
            'r' => out.push('\r'),
            't' => out.push('\t'),
            'v' => out.push('\u{b}'),
            'x' | 'u' | 'U' => {
                let length = match escape {
                    'x' => 2,
                    'u' => 4,
                    _ => 8,
                };
                let digits = characters.as_str().get(..length)?;
                let code = digits
                    .bytes()
                    .all(|b| b.is_ascii_hexdigit())
                    .then(|| u32::from_str_radix(digits, 16))?
                    .ok()?;
                out.push(char::from_u32(code).or_else(|| crate::text::surrogate(code))?);
                characters.nth(length - 1);
            }
            '0'..='7' => {
                let mut code = escape.to_digit(8)?;
                for _ in 0..2 {
                    let Some(digit) = characters.as_str().chars().next().and_then(|c| c.to_digit(8)) else {
                        break;
                    };
                    code = code * 8 + digit;
                    characters.next();
                }
                out.push(char::from_u32(code)?);
            }
            // Names of characters are not known here.
            'N' => return None,
            // jinja2 writes characters beyond ASCII as escapes first, whose backslash this one then escapes.
            other if !other.is_ascii() => {
                out.push('\\');
                let code = u32::from(other);
                // Writing to a text does not fail.
                let _ = match code {
                    0..=0xff => write!(out, "x{code:02x}"),
                    0x100..=0xffff => write!(out, "u{code:04x}"),
                    _ => write!(out, "U{code:08x}"),
                };
            }
            other => {
                out.push('\\');
                out.push(other);
            }
        }
    }
    Some(out)
}
