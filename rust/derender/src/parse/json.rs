//! A JSON text that arrives in pieces: where it ends, and whether it is one, with a state of a few bytes.

use std::borrow::Cow;

use dragoman_protocol::text::plain;
use serde::{Deserialize, Serialize};

/// Nesting that is followed; deeper values are refused as malformed.
const MAX_DEPTH: u16 = 1024;

/// What the scanner waits for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Expect {
    #[default]
    Value,
    FirstItem,
    FirstKey,
    Key,
    Colon,
    AfterValue,
    String {
        key: bool,
    },
    Escape {
        key: bool,
    },
    Hex {
        key: bool,
        left: u8,
    },
    Number(Number),
    Literal {
        word: u8,
        at: u8,
    },
    /// Behind a comma, which stays out where the list or object ends.
    Comma,
    Done,
}

/// The parts of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Number {
    Minus,
    Zero,
    Whole,
    Point,
    Fraction,
    Exponent,
    ExponentSign,
    ExponentDigits,
}

/// JSON's words, and Python's behind them in the same order.
const WORDS: [&str; 6] = ["true", "false", "null", "True", "False", "None"];
/// Blanks that are held behind a comma. With more of them the comma counts, whatever follows.
const MAX_BLANKS: usize = 64;

/// How far a scan got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// All text was read, and the value goes on.
    More,
    /// The value is complete; the text after it is not read.
    Done,
    /// The next character cannot stand there.
    Malformed,
}

/// Reads one JSON value. Blanks before the value are read too.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scanner {
    expect: Expect,
    depth: u16,
    /// One bit for each level: set for an object.
    objects: Vec<u8>,
    /// A comma and the blanks behind it, or a part of a word of Python's.
    held: String,
}

impl Scanner {
    /// See [`super::State::is_valid`].
    #[must_use]
    pub fn is_valid(&self) -> bool {
        let levels = usize::from(self.depth.div_ceil(8));
        self.depth <= MAX_DEPTH && self.objects.len() == levels && self.held.len() <= 1 + MAX_BLANKS
    }

    /// Reads from `text`, appends what was read to `out`, and tells how many bytes were read and how it stands.
    ///
    /// What JSON forbids inside strings, models write and has one meaning comes out as JSON: control characters as their
    /// escapes; of escapes that there are none of, `\'` as the quote, and any other with its backslash doubled, as regular
    /// expressions and paths mean it. So do `True`, `False` and `None`, and a comma in front of a closing bracket goes.
    pub fn scan(&mut self, text: &str, out: &mut String) -> (usize, Progress) {
        let bytes = text.as_bytes();
        let (mut at, mut copied) = (0, 0);
        let progress = loop {
            if self.expect == Expect::Done {
                break Progress::Done;
            }
            if let Expect::String { .. } = self.expect {
                at += plain(&bytes[at..]);
            }
            let Some(&byte) = bytes.get(at) else { break Progress::More };
            match self.step(byte) {
                Step::Taken => at += 1,
                Step::Again => {}
                Step::Held => {
                    out.push_str(&text[copied..at]);
                    self.held.push(char::from(byte));
                    at += 1;
                    copied = at;
                }
                Step::Mended { with, taken } => {
                    out.push_str(&text[copied..at]);
                    out.push_str(&with);
                    at += usize::from(taken);
                    copied = at;
                }
                Step::Refused => {
                    out.push_str(&text[copied..at]);
                    out.push_str(&std::mem::take(&mut self.held));
                    copied = at;
                    break Progress::Malformed;
                }
            }
        };
        out.push_str(&text[copied..at]);
        (at, progress)
    }

    /// Whether anything of the value has been read.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.depth > 0 || self.expect != Expect::Value
    }

    /// Whether the value would be complete if nothing followed: a number at the top has no end of its own.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        let number_end = matches!(
            self.expect,
            Expect::Number(Number::Zero | Number::Whole | Number::Fraction | Number::ExponentDigits)
        );
        self.expect == Expect::Done || (self.depth == 0 && number_end)
    }

    /// Whether the next character stands inside a string.
    #[must_use]
    pub fn in_string(&self) -> bool {
        matches!(self.expect, Expect::String { .. } | Expect::Escape { .. } | Expect::Hex { .. })
    }

    fn step(&mut self, byte: u8) -> Step {
        let blank = matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        match self.expect {
            Expect::Value
            | Expect::FirstItem
            | Expect::FirstKey
            | Expect::Key
            | Expect::Colon
            | Expect::AfterValue
                if blank =>
            {
                Step::Taken
            }
            Expect::FirstItem if byte == b']' => self.close(),
            Expect::Value | Expect::FirstItem => self.value(byte),
            Expect::FirstKey if byte == b'}' => self.close(),
            Expect::FirstKey | Expect::Key if byte == b'"' => self.to(Expect::String { key: true }),
            Expect::Colon if byte == b':' => self.to(Expect::Value),
            Expect::AfterValue if byte == b',' => self.hold(Expect::Comma),
            Expect::AfterValue if self.closes(byte) => self.close(),
            Expect::Comma => self.comma(byte, blank),
            Expect::String { key } => match byte {
                b'"' if key => self.to(Expect::Colon),
                b'"' => self.end_value(),
                b'\\' => self.to(Expect::Escape { key }),
                0..0x20 => Step::Mended { with: escape(byte), taken: true },
                _ => Step::Taken,
            },
            Expect::Escape { key } => match byte {
                b'u' => self.to(Expect::Hex { key, left: 4 }),
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => self.to(Expect::String { key }),
                _ => {
                    // The backslash is out, so that what follows makes a whole escape of it.
                    self.expect = Expect::String { key };
                    let quote = byte == b'\'';
                    Step::Mended { with: if quote { "u0027" } else { "\\" }.into(), taken: quote }
                }
            },
            Expect::Hex { key, left } if byte.is_ascii_hexdigit() => {
                self.to(if left > 1 { Expect::Hex { key, left: left - 1 } } else { Expect::String { key } })
            }
            Expect::Number(number) => self.number(number, byte),
            Expect::Literal { word, at } => self.word(usize::from(word), at, byte),
            Expect::FirstKey
            | Expect::Key
            | Expect::Colon
            | Expect::AfterValue
            | Expect::Hex { .. }
            | Expect::Done => Step::Refused,
        }
    }

    fn hold(&mut self, expect: Expect) -> Step {
        self.expect = expect;
        Step::Held
    }

    fn comma(&mut self, byte: u8, blank: bool) -> Step {
        if blank && self.held.len() <= MAX_BLANKS {
            return Step::Held;
        }
        let held = std::mem::take(&mut self.held);
        if self.closes(byte) {
            self.expect = Expect::AfterValue;
            return Step::Mended { with: held.trim_start_matches(',').to_owned().into(), taken: false };
        }
        self.expect = if self.in_object() { Expect::Key } else { Expect::Value };
        Step::Mended { with: held.into(), taken: false }
    }

    fn word(&mut self, word: usize, at: u8, byte: u8) -> Step {
        let letters = WORDS.get(word).copied().unwrap_or_default();
        if letters.as_bytes().get(usize::from(at)) != Some(&byte) {
            return Step::Refused;
        }
        let python = word >= WORDS.len() / 2;
        if usize::from(at) + 1 < letters.len() {
            self.expect = Expect::Literal { word: u8::try_from(word).unwrap_or_default(), at: at + 1 };
            return if python { Step::Held } else { Step::Taken };
        }
        self.end_value();
        if python {
            self.held.clear();
            return Step::Mended { with: WORDS[word % (WORDS.len() / 2)].into(), taken: true };
        }
        Step::Taken
    }

    fn value(&mut self, byte: u8) -> Step {
        match byte {
            b'{' => self.open(true),
            b'[' => self.open(false),
            b'"' => self.to(Expect::String { key: false }),
            b't' => self.to(Expect::Literal { word: 0, at: 1 }),
            b'f' => self.to(Expect::Literal { word: 1, at: 1 }),
            b'n' => self.to(Expect::Literal { word: 2, at: 1 }),
            b'T' => self.hold(Expect::Literal { word: 3, at: 1 }),
            b'F' => self.hold(Expect::Literal { word: 4, at: 1 }),
            b'N' => self.hold(Expect::Literal { word: 5, at: 1 }),
            b'-' => self.to(Expect::Number(Number::Minus)),
            b'0' => self.to(Expect::Number(Number::Zero)),
            b'1'..=b'9' => self.to(Expect::Number(Number::Whole)),
            _ => Step::Refused,
        }
    }

    fn number(&mut self, number: Number, byte: u8) -> Step {
        let next = match (number, byte) {
            (Number::Minus, b'0') => Number::Zero,
            (Number::Minus, b'1'..=b'9') | (Number::Whole, b'0'..=b'9') => Number::Whole,
            (Number::Zero | Number::Whole, b'.') => Number::Point,
            (Number::Point | Number::Fraction, b'0'..=b'9') => Number::Fraction,
            (Number::Zero | Number::Whole | Number::Fraction, b'e' | b'E') => Number::Exponent,
            (Number::Exponent, b'+' | b'-') => Number::ExponentSign,
            (Number::Exponent | Number::ExponentSign | Number::ExponentDigits, b'0'..=b'9') => {
                Number::ExponentDigits
            }
            (Number::Zero | Number::Whole | Number::Fraction | Number::ExponentDigits, _) => {
                self.end_value();
                return Step::Again;
            }
            _ => return Step::Refused,
        };
        self.to(Expect::Number(next))
    }

    fn to(&mut self, expect: Expect) -> Step {
        self.expect = expect;
        Step::Taken
    }

    fn end_value(&mut self) -> Step {
        self.to(if self.depth == 0 { Expect::Done } else { Expect::AfterValue })
    }

    fn open(&mut self, object: bool) -> Step {
        if self.depth >= MAX_DEPTH {
            return Step::Refused;
        }
        let (byte, bit) = (usize::from(self.depth / 8), self.depth % 8);
        if self.objects.len() <= byte {
            self.objects.resize(byte + 1, 0);
        }
        if let Some(levels) = self.objects.get_mut(byte) {
            *levels = (*levels & !(1 << bit)) | (u8::from(object) << bit);
        }
        self.depth += 1;
        self.to(if object { Expect::FirstKey } else { Expect::FirstItem })
    }

    fn close(&mut self) -> Step {
        self.depth = self.depth.saturating_sub(1);
        self.objects.truncate(usize::from(self.depth.div_ceil(8)));
        self.end_value()
    }

    fn closes(&self, byte: u8) -> bool {
        byte == if self.in_object() { b'}' } else { b']' }
    }

    fn in_object(&self) -> bool {
        let level = self.depth.saturating_sub(1);
        self.objects.get(usize::from(level / 8)).is_some_and(|levels| levels >> (level % 8) & 1 == 1)
    }
}

enum Step {
    Taken,
    Again,
    /// The byte is read, and not out yet.
    Held,
    /// Other text comes out in place of the byte, where `taken`, or before it.
    Mended {
        with: Cow<'static, str>,
        taken: bool,
    },
    Refused,
}

/// The JSON escape of a control character.
fn escape(byte: u8) -> Cow<'static, str> {
    match byte {
        b'\n' => "\\n".into(),
        b'\r' => "\\r".into(),
        b'\t' => "\\t".into(),
        _ => format!("\\u{byte:04x}").into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Well-formed by RFC 8259; `serde_json` is the reference.
    #[test]
    fn it_accepts_what_serde_json_accepts_in_any_pieces() {
        let texts = [
            "{}",
            "[]",
            "{\"a\": [1, -0.5e+3, true, null, \"x\\u00e9\\\"}\"]}",
            "\"s\"",
            "[[[{}]], {\"k\": {}}]",
            "{\"a\" 1}",
            "{,}",
            "[1,,]",
            "[1,}",
            "{\"a\": }",
            "tru",
            "[01]",
            "{\"a\": \"\\u00x\"}",
            "-",
            "1.",
            "{]",
            "[}",
            "nul]",
        ];
        for text in texts {
            let expected = serde_json::from_str::<serde_json::Value>(text).is_ok();
            for cut in 0..=text.len() {
                let (mut scanner, mut out) = (Scanner::default(), String::new());
                let (read, progress) = scanner.scan(&text[..cut], &mut out);
                let whole = if progress == Progress::More {
                    scanner.scan(&text[cut..], &mut out);
                    out == text && scanner.is_complete()
                } else {
                    read == text.len() && scanner.is_complete()
                };
                assert_eq!(whole, expected, "{text} cut at {cut}");
            }
        }
    }

    /// Expected: RFC 8259 for control characters, JSON5 for the quote and for commas, Python for its words and for
    /// backslashes, which it keeps before what is no escape.
    #[test]
    fn faults_that_have_one_meaning_are_mended_in_any_pieces() {
        let cases = [
            ("[\"a\nb\u{1}\",\n1]", "[\"a\\nb\\u0001\",\n1]"),
            (r#"["it\'s \d+ \$HOME C:\Users \é"]"#, r#"["it\u0027s \\d+ \\$HOME C:\\Users \\é"]"#),
            ("{\"a\\\n\": 1}", "{\"a\\\\\\n\": 1}"),
            ("{\"a\": [1, 2,\n ], \"b\": {\"c\": 3,},}", "{\"a\": [1, 2\n ], \"b\": {\"c\": 3}}"),
            ("[True, {\"a\": None,\"b\": False}]", "[true, {\"a\": null,\"b\": false}]"),
        ];
        for (text, expected) in cases {
            serde_json::from_str::<serde_json::Value>(expected).expect("JSON");
            for cut in (0..text.len()).filter(|&cut| text.is_char_boundary(cut)) {
                let (mut scanner, mut out) = (Scanner::default(), String::new());
                assert_eq!(scanner.scan(&text[..cut], &mut out), (cut, Progress::More));
                let behind = format!("{} rest", &text[cut..]);
                assert_eq!(scanner.scan(&behind, &mut out), (text.len() - cut, Progress::Done));
                assert_eq!(out, expected, "{text} cut at {cut}");
            }
        }
    }
}
