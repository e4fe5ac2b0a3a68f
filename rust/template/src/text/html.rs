//! Text as markupsafe escapes it.

/// Escapes the five characters that HTML gives a meaning.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\'' => out.push_str("&#39;"),
            '"' => out.push_str("&#34;"),
            other => out.push(other),
        }
    }
    out
}

/// Removes comments and tags, replaces runs of whitespace by one space, and resolves character references.
pub(crate) fn strip_tags(text: &str) -> String {
    let mut rest = text;
    let mut kept = String::with_capacity(text.len());
    while let Some(start) = rest.find("<!--") {
        let Some(end) = rest[start..].find("-->") else {
            break;
        };
        kept.push_str(&rest[..start]);
        rest = &rest[start + end + 3..];
    }
    kept.push_str(rest);
    let mut rest = kept.as_str();
    let mut out = String::with_capacity(kept.len());
    while let Some(start) = rest.find('<') {
        let Some(end) = rest[start..].find('>') else {
            break;
        };
        out.push_str(&rest[..start]);
        rest = &rest[start + end + 1..];
    }
    out.push_str(rest);
    let words: Vec<&str> = out.split(super::is_space).filter(|word| !word.is_empty()).collect();
    unescape(&words.join(" "))
}

/// Resolves numeric references and the named ones of XML.
pub(crate) fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('&') {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        let end = rest.char_indices().take(12).find(|&(_, c)| c == ';').map(|(at, _)| at);
        let resolved = end.and_then(|end| reference(&rest[1..end]).map(|character| (character, end + 1)));
        let (character, length) = resolved.unwrap_or(('&', 1));
        out.push(character);
        rest = &rest[length..];
    }
    out.push_str(rest);
    out
}

/// The character that a reference names.
fn reference(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16).ok()?,
            None => number.parse().ok()?,
        };
        return char::from_u32(code);
    }
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => '\u{a0}',
        "copy" => '\u{a9}',
        "reg" => '\u{ae}',
        "hellip" => '\u{2026}',
        "ndash" => '\u{2013}',
        "mdash" => '\u{2014}',
        _ => return None,
    })
}
