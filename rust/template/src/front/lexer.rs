//! jinja2's lexer: texts and tags, with `trim_blocks` and `lstrip_blocks` on, as transformers sets them.

use num_bigint::BigInt;

use super::literal::Constant;
use super::number::{float, integer};
use crate::error::{Outcome, TemplateError};
use crate::text::is_space;

/// A token inside a tag.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Token {
    Name(String),
    Operator(&'static str),
    Text(String),
    Integer(BigInt),
    Float(f64),
}

/// A token and its line, counted from 1.
#[derive(Debug)]
pub(crate) struct Located {
    pub token: Token,
    pub line: usize,
}

/// A piece of a template.
#[derive(Debug)]
pub(crate) enum Piece {
    Text(String),
    /// `{{ ... }}` or, if `statement`, `{% ... %}`.
    Tag {
        statement: bool,
        tokens: Vec<Located>,
        line: usize,
    },
}

/// Longest first, so that `//` is not read as two `/`.
const OPERATORS: [&str; 26] = [
    "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{", "}", ">", "<",
    "=", ".", ":", "|", ",", ";",
];

/// Cuts a template into pieces.
///
/// # Errors
/// [`TemplateError::Syntax`].
pub(crate) fn split(source: &str) -> Outcome<Vec<Piece>> {
    let mut source = source.replace("\r\n", "\n").replace('\r', "\n");
    if source.ends_with('\n') {
        source.pop();
    }
    let mut lexer =
        Lexer { source: &source, at: 0, line_starting: true, pieces: Vec::new(), line: 1, counted: 0 };
    lexer.run()?;
    Ok(lexer.pieces)
}

struct Lexer<'s> {
    source: &'s str,
    at: usize,
    /// Whether what was consumed last ended a line.
    line_starting: bool,
    pieces: Vec<Piece>,
    line: usize,
    /// Up to where lines were counted.
    counted: usize,
}

impl<'s> Lexer<'s> {
    fn rest(&self) -> &'s str {
        &self.source[self.at..]
    }

    /// The line of the current position.
    fn line(&mut self) -> usize {
        self.line += self.source[self.counted..self.at].matches('\n').count();
        self.counted = self.at;
        self.line
    }

    fn error<T>(&mut self, message: impl Into<String>) -> Outcome<T> {
        Err(TemplateError::Syntax { message: message.into(), line: self.line() })
    }

    /// Moves on to `end`, and notes whether a line ended there.
    fn advance_to(&mut self, end: usize) {
        self.line_starting = self.source[..end].ends_with('\n');
        self.at = end;
    }

    fn run(&mut self) -> Outcome<()> {
        loop {
            let rest = self.rest();
            let Some((start, marker)) = find_tag(rest) else {
                self.push_text(rest.to_owned());
                return Ok(());
            };
            let body = self.at + start + 2;
            let (sign, body) = sign_at(self.source, body, b"-+");
            let text = self.control(&rest[..start], sign, marker != b'{');
            self.push_text(text);
            if marker == b'%'
                && let Some(end) = raw_begin(&self.source[body..])
            {
                self.advance_to(body + end);
                self.raw()?;
                continue;
            }
            self.advance_to(body);
            match marker {
                b'#' => self.comment()?,
                b'%' => self.tag(true)?,
                _ => self.tag(false)?,
            }
        }
    }

    fn push_text(&mut self, text: String) {
        if !text.is_empty() {
            self.pieces.push(Piece::Text(text));
        }
    }

    /// Text before a tag, cut as the tag's sign and `lstrip_blocks` say.
    fn control(&self, text: &str, sign: Option<u8>, strips: bool) -> String {
        match sign {
            Some(b'-') => text.trim_end_matches(is_space).to_owned(),
            None if strips => {
                let line = text.rfind('\n').map_or(0, |at| at + 1);
                let at_start = line > 0 || self.line_starting;
                if at_start && text[line..].chars().all(is_space) {
                    text[..line].to_owned()
                } else {
                    text.to_owned()
                }
            }
            _ => text.to_owned(),
        }
    }

    /// The end of a tag at `at`, if it is there: `+%}` keeps what follows, `-%}` eats whitespace, `%}` a newline.
    fn tag_end(&self, at: usize, end: &str, plus: bool, newline: bool) -> Option<usize> {
        let rest = &self.source[at..];
        if plus && rest.strip_prefix('+').is_some_and(|rest| rest.starts_with(end)) {
            return Some(at + 1 + end.len());
        }
        if let Some(after) = rest.strip_prefix('-').and_then(|rest| rest.strip_prefix(end)) {
            return Some(self.source.len() - after.trim_start_matches(is_space).len());
        }
        let after = rest.strip_prefix(end)?;
        let eaten = usize::from(newline && after.starts_with('\n'));
        Some(at + end.len() + eaten)
    }

    fn comment(&mut self) -> Outcome<()> {
        for (at, _) in self.rest().match_indices(['+', '-', '#']) {
            if let Some(end) = self.tag_end(self.at + at, "#}", true, true) {
                self.advance_to(end);
                return Ok(());
            }
        }
        // jinja2 looks for the end of what has begun only if there is something left.
        if self.rest().is_empty() {
            return Ok(());
        }
        self.error("Missing end of comment tag")
    }

    fn raw(&mut self) -> Outcome<()> {
        for (start, _) in self.rest().match_indices("{%") {
            let (sign, name) = sign_at(self.source, self.at + start + 2, b"-+");
            let after = self.source[name..].trim_start_matches(is_space);
            let Some(after) = after.strip_prefix("endraw") else {
                continue;
            };
            let end = self.source.len() - after.trim_start_matches(is_space).len();
            if let Some(end) = self.tag_end(end, "%}", true, true) {
                let text = self.control(&self.source[self.at..self.at + start], sign, true);
                self.push_text(text);
                self.advance_to(end);
                return Ok(());
            }
        }
        if self.rest().is_empty() {
            return Ok(());
        }
        self.error("Missing end of raw directive")
    }

    fn tag(&mut self, statement: bool) -> Outcome<()> {
        let start_line = self.line();
        let end_marker = if statement { "%}" } else { "}}" };
        let mut tokens = Vec::new();
        let mut brackets: Vec<&str> = Vec::new();
        loop {
            if brackets.is_empty()
                && let Some(end) = self.tag_end(self.at, end_marker, statement, statement)
            {
                self.advance_to(end);
                self.pieces.push(Piece::Tag { statement, tokens, line: start_line });
                return Ok(());
            }
            let rest = self.rest();
            let Some(first) = rest.chars().next() else {
                let what = if statement { "statement block" } else { "print statement" };
                return self.error(format!("unexpected end of template, expected 'end of {what}'."));
            };
            if is_space(first) {
                self.at = self.source.len() - rest.trim_start_matches(is_space).len();
                continue;
            }
            let line = self.line();
            let token = self.token(first)?;
            if let Token::Operator(operator) = token {
                match operator {
                    "(" => brackets.push(")"),
                    "[" => brackets.push("]"),
                    "{" => brackets.push("}"),
                    ")" | "]" | "}" => match brackets.pop() {
                        Some(expected) if expected == operator => {}
                        Some(expected) => {
                            return self.error(format!("unexpected '{operator}', expected '{expected}'"));
                        }
                        None => return self.error(format!("unexpected '{operator}'")),
                    },
                    _ => {}
                }
            }
            tokens.push(Located { token, line });
        }
    }

    fn token(&mut self, first: char) -> Outcome<Token> {
        let rest = self.rest();
        let after_dot = self.source[..self.at].ends_with('.');
        if first.is_ascii_digit() {
            if !after_dot && let Some((value, length)) = float(rest) {
                self.at += length;
                return Ok(Token::Float(value));
            }
            let (value, length) = integer(rest);
            self.at += length;
            return Ok(Token::Integer(value));
        }
        if first == '_' || first.is_alphanumeric() {
            let end = rest.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(rest.len());
            self.at += end;
            return Ok(Token::Name(rest[..end].to_owned()));
        }
        if first == '\'' || first == '"' {
            let Some(end) = string_end(rest, first) else {
                return self.error(format!("unexpected char {first:?} at {}", self.at));
            };
            let Some(text) = super::escape::unescaped(&rest[1..end]) else {
                return self.error("malformed escape in a string literal");
            };
            self.at += end + 1;
            return Ok(Token::Text(text));
        }
        match OPERATORS.iter().find(|operator| rest.starts_with(**operator)) {
            Some(operator) => {
                self.at += operator.len();
                Ok(Token::Operator(operator))
            }
            None if rest.starts_with('!') => self.error("unexpected char '!'"),
            None => self.error(format!("unexpected char {first:?} at {}", self.at)),
        }
    }
}

/// The next tag: where it starts, and the second character of its marker.
fn find_tag(text: &str) -> Option<(usize, u8)> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(found) = text[at..].find('{') {
        at += found;
        match bytes.get(at + 1) {
            Some(&marker @ (b'{' | b'%' | b'#')) => return Some((at, marker)),
            _ => at += 1,
        }
    }
    None
}

/// The whitespace sign at a position, if one of `signs` is there, and the position after it.
fn sign_at(source: &str, at: usize, signs: &[u8]) -> (Option<u8>, usize) {
    match source.as_bytes().get(at) {
        Some(sign) if signs.contains(sign) => (Some(*sign), at + 1),
        _ => (None, at),
    }
}

/// The length of the rest of a `{% raw %}` tag, after its marker and sign.
fn raw_begin(text: &str) -> Option<usize> {
    let after = text.trim_start_matches(is_space).strip_prefix("raw")?.trim_start_matches(is_space);
    if let Some(after) = after.strip_prefix("-%}") {
        return Some(text.len() - after.trim_start_matches(is_space).len());
    }
    after.strip_prefix("%}").map(|after| text.len() - after.len())
}

/// Where the string literal that starts the text ends: the offset of its closing quote.
fn string_end(text: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if character == '\\' {
            escaped = true;
        } else if character == quote {
            return Some(at);
        }
    }
    None
}

impl Token {
    /// The constant that a literal token is.
    pub fn constant(self) -> Option<Constant> {
        Some(match self {
            Self::Text(text) => Constant::Str(text.into()),
            Self::Float(value) => Constant::Float(value),
            Self::Integer(value) => match i64::try_from(&value) {
                Ok(small) => Constant::Int(small),
                Err(_) => Constant::Big(value.into()),
            },
            Self::Name(_) | Self::Operator(_) => return None,
        })
    }
}
