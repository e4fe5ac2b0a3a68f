//! A Python string that arrives in pieces and leaves as the inside of a JSON string. Grammar: the Python language
//! reference, 2.4.1; line breaks in strings of one quote, which models write, are taken as they are.

use serde::{Deserialize, Serialize};

use super::escaped;
use super::json::Progress;

/// What the next character may be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Expect {
    /// Quotes that open the string, of which one or two were read.
    #[default]
    First,
    Second,
    Body,
    /// Quotes that may close a string of three.
    Closing,
    LastClosing,
    Escape,
    /// The character behind a backslash of a raw string.
    Raw,
    /// Digits of a character's number.
    Code {
        octal: bool,
        left: u8,
        value: u32,
    },
}

/// The quote that opens and closes a string.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Quote {
    #[default]
    Double,
    Single,
}

impl Quote {
    const fn byte(self) -> u8 {
        match self {
            Self::Double => b'"',
            Self::Single => b'\'',
        }
    }
}

/// The first half of a surrogate pair: its number above 0xD800, below 0x400.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct HighHalf(u16);

impl HighHalf {
    /// The character of the pair.
    fn join(self, low: u32) -> u32 {
        0x10000 + (u32::from(self.0 & 0x3ff) << 10) + (low & 0x3ff)
    }
}

/// Reads one string, from behind its first quote.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PythonString {
    expect: Expect,
    quote: Quote,
    triple: bool,
    raw: bool,
    high: Option<HighHalf>,
}

impl PythonString {
    /// See [`super::State::is_valid`].
    #[must_use]
    pub fn is_valid(&self) -> bool {
        let is_code = |octal, left| (1..=if octal { 2 } else { 8 }).contains(&left);
        let code = match self.expect {
            Expect::Code { octal, left, .. } => is_code(octal, left),
            _ => true,
        };
        code && self.high.is_none_or(|half| half.0 < 0x400)
    }

    /// A string behind its first quote.
    #[must_use]
    pub fn new(quote: char, raw: bool) -> Self {
        Self { quote: if quote == '\'' { Quote::Single } else { Quote::Double }, raw, ..Self::default() }
    }

    /// Whether a special token would be text of the string.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.expect != Expect::Second
    }

    /// Reads from `text` and tells how many bytes were read and whether the string ended, with its last quote read.
    pub fn feed(&mut self, text: &str, out: &mut String) -> (usize, Progress) {
        let mut at = 0;
        while let Some(character) = text[at..].chars().next() {
            let (read, progress) = match self.expect {
                Expect::Body => self.body(&text[at..], out),
                _ => self.step(character, out),
            };
            at += read;
            if progress != Progress::More {
                return (at, progress);
            }
        }
        (at, Progress::More)
    }

    /// Reads up to the end or an escape.
    fn body(&mut self, text: &str, out: &mut String) -> (usize, Progress) {
        let quote = self.quote.byte();
        let end = text.bytes().position(|byte| byte == quote || byte == b'\\').unwrap_or(text.len());
        self.text(&text[..end], out);
        match text.as_bytes().get(end) {
            None => return (end, Progress::More),
            Some(b'\\') if self.raw => {
                self.text("\\", out);
                self.expect = Expect::Raw;
            }
            Some(b'\\') => self.expect = Expect::Escape,
            Some(_) if self.triple => self.expect = Expect::Closing,
            Some(_) => {
                self.settle(out);
                return (end + 1, Progress::Done);
            }
        }
        (end + 1, Progress::More)
    }

    fn step(&mut self, character: char, out: &mut String) -> (usize, Progress) {
        let quote = character == char::from(self.quote.byte());
        let taken = (character.len_utf8(), Progress::More);
        let again = (0, Progress::More);
        match self.expect {
            Expect::First => {
                self.expect = if quote { Expect::Second } else { Expect::Body };
                if quote { taken } else { again }
            }
            // Two quotes are a string of their own, unless a third one follows.
            Expect::Second if !quote => (0, Progress::Done),
            Expect::Second => {
                self.triple = true;
                self.expect = Expect::Body;
                taken
            }
            Expect::Body => again,
            Expect::LastClosing if quote => {
                self.settle(out);
                (1, Progress::Done)
            }
            Expect::Closing if quote => {
                self.expect = Expect::LastClosing;
                taken
            }
            Expect::Closing | Expect::LastClosing => {
                let quotes = if self.quote == Quote::Double { "\"\"" } else { "''" };
                let count = if self.expect == Expect::Closing { 1 } else { 2 };
                self.text(&quotes[..count], out);
                self.expect = Expect::Body;
                again
            }
            Expect::Raw => {
                self.text(character.encode_utf8(&mut [0; 4]), out);
                self.expect = Expect::Body;
                taken
            }
            Expect::Escape => {
                self.escape(character, out);
                taken
            }
            Expect::Code { octal, left, value } => {
                let radix = if octal { 8 } else { 16 };
                let Some(digit) = character.to_digit(radix) else {
                    if !octal {
                        return (0, Progress::Malformed);
                    }
                    self.character(value, out);
                    return again;
                };
                let value = value.saturating_mul(radix).saturating_add(digit);
                if left > 1 {
                    self.expect = Expect::Code { octal, left: left - 1, value };
                } else {
                    self.character(value, out);
                }
                taken
            }
        }
    }

    fn escape(&mut self, character: char, out: &mut String) {
        let code = |octal, left, value| Expect::Code { octal, left, value };
        self.expect = match character {
            'x' => code(false, 2, 0),
            'u' => code(false, 4, 0),
            'U' => code(false, 8, 0),
            '0'..='7' => code(true, 2, character.to_digit(8).unwrap_or_default()),
            _ => Expect::Body,
        };
        let mut buffer = [0; 4];
        let text = match character {
            'x' | 'u' | 'U' | '0'..='7' | '\n' => "",
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
            // Python leaves an escape that it does not know as it is.
            _ => {
                self.text("\\", out);
                character.encode_utf8(&mut buffer)
            }
        };
        self.text(text, out);
    }

    /// Writes an escaped character. Halves of a surrogate pair are joined; one that stands alone is no character.
    fn character(&mut self, value: u32, out: &mut String) {
        self.expect = Expect::Body;
        let value = match (value, self.high) {
            (0xdc00..0xe000, Some(high)) => {
                self.high = None;
                high.join(value)
            }
            (0xd800..0xdc00, _) => {
                self.settle(out);
                self.high = u16::try_from(value - 0xd800).ok().map(HighHalf);
                return;
            }
            _ => value,
        };
        let character = char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER);
        self.text(character.encode_utf8(&mut [0; 4]), out);
    }

    fn text(&mut self, text: &str, out: &mut String) {
        if !text.is_empty() {
            self.settle(out);
            escaped::push(text, out);
        }
    }

    /// A half of a surrogate pair whose other half did not come is no character.
    fn settle(&mut self, out: &mut String) {
        if self.high.take().is_some() {
            out.push(char::REPLACEMENT_CHARACTER);
        }
    }
}
