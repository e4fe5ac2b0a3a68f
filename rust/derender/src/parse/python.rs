//! A Python literal that arrives in pieces and leaves as JSON: strings, numbers, `True`, `False`, `None` and JSON's
//! own words, lists and dictionaries of these.
//!
//! What is decided goes out at once, so a string streams and only its escapes are held. Grammar: the Python language
//! reference, 2.4 (literals), 6.2.5 and 6.2.7 (displays).

use serde::{Deserialize, Serialize};

use super::escaped;
use super::json::Progress;
use super::python_atom::{Scalar, scalar};

/// Nesting that is followed; deeper values are refused as malformed.
const MAX_DEPTH: usize = 128;
/// The length of a name or number.
const MAX_WORD: usize = 512;

/// What the next character may be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Expect {
    #[default]
    Value,
    /// An item of the innermost list or dictionary, or its end.
    Item,
    Word,
    /// One or two quotes of a string that opens.
    Quotes(u8),
    Body,
    /// Quotes that may close a string of three.
    Closing(u8),
    Escape,
    /// The character behind a backslash of a raw string.
    Raw,
    Code {
        radix: u8,
        left: u8,
        value: u32,
    },
    /// A string ended; another may be joined to it.
    Joined,
    Colon,
    After,
}

/// Lists and dictionaries that are open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Display {
    List,
    Dictionary,
}

/// Reads one value up to the `,` or `)` that follows it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Literal {
    expect: Expect,
    open: Vec<Display>,
    /// Whether the value that is read is a key.
    key: bool,
    /// Whether a comma stands before the next item.
    comma: bool,
    quote: u8,
    triple: bool,
    raw: bool,
    /// A name or number while it is read.
    word: String,
    /// The first half of a surrogate pair.
    high: u16,
}

impl Literal {
    /// Whether the next character stands inside a string.
    #[must_use]
    pub fn in_string(&self) -> bool {
        matches!(
            self.expect,
            Expect::Body | Expect::Closing(_) | Expect::Escape | Expect::Raw | Expect::Code { .. }
        ) || matches!(self.expect, Expect::Quotes(1))
    }

    /// The name or number that is still held.
    pub fn take_word(&mut self) -> String {
        std::mem::take(&mut self.word)
    }

    /// Reads from `text`, appends JSON to `out`, and tells how many bytes were read and how it stands. Blanks around
    /// the value are read; the `,` or `)` that ends it is not.
    pub fn feed(&mut self, text: &str, out: &mut String) -> (usize, Progress) {
        let mut at = 0;
        while let Some(character) = text[at..].chars().next() {
            if self.expect == Expect::Body {
                at += self.body(&text[at..], out);
                continue;
            }
            match self.step(character, out) {
                Step::Taken => at += character.len_utf8(),
                Step::Again => {}
                Step::Ended => return (at, Progress::Done),
                Step::Refused => return (at, Progress::Malformed),
            }
        }
        (at, Progress::More)
    }

    /// Reads inside a string up to its end or an escape.
    fn body(&mut self, text: &str, out: &mut String) -> usize {
        let quote = self.quote;
        let end = text.bytes().position(|byte| byte == quote || byte == b'\\').unwrap_or(text.len());
        self.text(&text[..end], out);
        match text.as_bytes().get(end) {
            None => return end,
            Some(b'\\') if self.raw => {
                self.text("\\", out);
                self.expect = Expect::Raw;
            }
            Some(b'\\') => self.expect = Expect::Escape,
            Some(_) if self.triple => self.expect = Expect::Closing(1),
            Some(_) => self.close_string(out),
        }
        end + 1
    }

    fn step(&mut self, character: char, out: &mut String) -> Step {
        match self.expect {
            Expect::Value | Expect::Item | Expect::Colon | Expect::After if character.is_whitespace() => Step::Taken,
            Expect::Item if self.closes(character) => self.close(out),
            Expect::Value | Expect::Item => self.value(character, out),
            Expect::Word => self.word(character, out),
            Expect::Quotes(count) => self.quotes(count, character),
            Expect::Body => Step::Again,
            Expect::Closing(count) => self.closing(count, character, out),
            Expect::Raw => {
                self.text(character.encode_utf8(&mut [0; 4]), out);
                self.to(Expect::Body)
            }
            Expect::Escape => self.escape(character, out),
            Expect::Code { radix, left, value } => self.code(radix, left, value, character, out),
            Expect::Joined if character.is_whitespace() => Step::Taken,
            Expect::Joined if matches!(character, '"' | '\'') => {
                self.quote = u8::try_from(character).unwrap_or(b'"');
                self.raw = false;
                self.to(Expect::Quotes(1))
            }
            Expect::Joined => {
                out.push('"');
                self.expect = if self.key { Expect::Colon } else { Expect::After };
                Step::Again
            }
            Expect::Colon if character == ':' => {
                out.push_str(": ");
                self.key = false;
                self.to(Expect::Value)
            }
            Expect::Colon => Step::Refused,
            Expect::After => self.after(character, out),
        }
    }

    fn to(&mut self, expect: Expect) -> Step {
        self.expect = expect;
        Step::Taken
    }

    fn value(&mut self, character: char, out: &mut String) -> Step {
        self.key = self.expect == Expect::Item && self.open.last() == Some(&Display::Dictionary);
        match character {
            '[' | '{' if self.key || self.open.len() >= MAX_DEPTH => Step::Refused,
            '[' | '{' => {
                self.separate(out);
                out.push(character);
                self.open.push(if character == '[' { Display::List } else { Display::Dictionary });
                self.to(Expect::Item)
            }
            '"' | '\'' => {
                self.raw = false;
                self.open_string(character, out)
            }
            _ if is_word(character) => {
                self.word.clear();
                self.expect = Expect::Word;
                Step::Again
            }
            _ => Step::Refused,
        }
    }

    /// Writes the comma that the source has already had.
    fn separate(&mut self, out: &mut String) {
        if std::mem::take(&mut self.comma) {
            out.push_str(", ");
        }
    }

    fn word(&mut self, character: char, out: &mut String) -> Step {
        if is_word(character) {
            if self.word.len() >= MAX_WORD {
                return Step::Refused;
            }
            self.word.push(character);
            return Step::Taken;
        }
        if matches!(character, '"' | '\'') {
            self.raw = match self.word.as_str() {
                "r" | "R" => true,
                "u" | "U" => false,
                _ => return Step::Refused,
            };
            self.word.clear();
            return self.open_string(character, out);
        }
        let Some(value) = scalar(&self.word) else { return Step::Refused };
        self.separate(out);
        match value {
            Scalar::Text(text) | Scalar::Number(text) if self.key => out.push_str(&escaped::quoted(&text)),
            Scalar::Text(text) | Scalar::Number(text) => out.push_str(&text),
        }
        self.word.clear();
        self.expect = if self.key { Expect::Colon } else { Expect::After };
        Step::Again
    }

    fn open_string(&mut self, quote: char, out: &mut String) -> Step {
        self.separate(out);
        out.push('"');
        self.quote = u8::try_from(quote).unwrap_or(b'"');
        self.to(Expect::Quotes(1))
    }

    /// The start of a string: `"`, or `"""`, or `""` which is a string of its own.
    fn quotes(&mut self, count: u8, character: char) -> Step {
        let quote = character == char::from(self.quote);
        self.triple = quote && count == 2;
        self.expect = match (count, quote) {
            (1, true) => Expect::Quotes(2),
            (_, true) | (1, false) => Expect::Body,
            (_, false) => Expect::Joined,
        };
        if quote { Step::Taken } else { Step::Again }
    }

    fn closing(&mut self, count: u8, character: char, out: &mut String) -> Step {
        if character != char::from(self.quote) {
            let quotes = if self.quote == b'"' { "\"\"" } else { "''" };
            self.text(&quotes[..usize::from(count.min(2))], out);
            self.expect = Expect::Body;
            return Step::Again;
        }
        if count == 2 {
            self.close_string(out);
            return Step::Taken;
        }
        self.to(Expect::Closing(count + 1))
    }

    fn close_string(&mut self, out: &mut String) {
        self.settle(out);
        self.triple = false;
        self.expect = Expect::Joined;
    }

    fn escape(&mut self, character: char, out: &mut String) -> Step {
        let code = |radix, left, value| Expect::Code { radix, left, value };
        self.expect = match character {
            'x' => code(16, 2, 0),
            'u' => code(16, 4, 0),
            'U' => code(16, 8, 0),
            '0'..='7' => code(8, 2, character.to_digit(8).unwrap_or_default()),
            _ => {
                let mut buffer = [0; 4];
                let known = match character {
                    'a' => "\u{7}",
                    'b' => "\u{8}",
                    'f' => "\u{c}",
                    'n' => "\n",
                    'r' => "\r",
                    't' => "\t",
                    'v' => "\u{b}",
                    '\\' => "\\",
                    '\'' => "'",
                    '"' => "\"",
                    '\n' => "",
                    // Python leaves an escape that it does not know as it is.
                    _ => {
                        self.text("\\", out);
                        character.encode_utf8(&mut buffer)
                    }
                };
                self.text(known, out);
                Expect::Body
            }
        };
        Step::Taken
    }

    fn code(&mut self, radix: u8, left: u8, value: u32, character: char, out: &mut String) -> Step {
        let digit = character.to_digit(u32::from(radix));
        if let Some(digit) = digit {
            let value = value.saturating_mul(u32::from(radix)).saturating_add(digit);
            if left > 1 {
                return self.to(Expect::Code { radix, left: left - 1, value });
            }
            self.character(value, out);
            return self.to(Expect::Body);
        }
        if radix != 8 {
            return Step::Refused;
        }
        self.character(value, out);
        self.expect = Expect::Body;
        Step::Again
    }

    /// Writes an escaped character. Halves of a surrogate pair are joined; one that stands alone is no character.
    fn character(&mut self, value: u32, out: &mut String) {
        if let (high @ 1.., 0xdc00..0xe000) = (self.high, value) {
            self.high = 0;
            let joined = 0x10000 + ((u32::from(high) - 0xd800) << 10) + (value - 0xdc00);
            let character = char::from_u32(joined).unwrap_or(char::REPLACEMENT_CHARACTER);
            self.text(character.encode_utf8(&mut [0; 4]), out);
            return;
        }
        self.settle(out);
        match u16::try_from(value) {
            Ok(high @ 0xd800..0xdc00) => self.high = high,
            _ => {
                let character = char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER);
                self.text(character.encode_utf8(&mut [0; 4]), out);
            }
        }
    }

    /// Writes text of a string.
    fn text(&mut self, text: &str, out: &mut String) {
        if !text.is_empty() {
            self.settle(out);
            escaped::push(text, out);
        }
    }

    /// A half of a surrogate pair whose other half did not come is no character.
    fn settle(&mut self, out: &mut String) {
        if std::mem::take(&mut self.high) != 0 {
            out.push(char::REPLACEMENT_CHARACTER);
        }
    }

    fn after(&mut self, character: char, out: &mut String) -> Step {
        match character {
            ',' | ')' if self.open.is_empty() => Step::Ended,
            ',' => {
                self.comma = true;
                self.to(Expect::Item)
            }
            _ if self.closes(character) => self.close(out),
            _ => Step::Refused,
        }
    }

    fn closes(&self, character: char) -> bool {
        let open = match character {
            ']' => Display::List,
            '}' => Display::Dictionary,
            _ => return false,
        };
        self.open.last() == Some(&open)
    }

    fn close(&mut self, out: &mut String) -> Step {
        self.comma = false;
        if let Some(open) = self.open.pop() {
            out.push(if open == Display::List { ']' } else { '}' });
        }
        self.key = false;
        self.to(Expect::After)
    }
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '.' | '+' | '-')
}

enum Step {
    Taken,
    Again,
    Ended,
    Refused,
}
