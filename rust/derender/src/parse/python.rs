//! A Python literal that arrives in pieces and leaves as JSON: strings, numbers, `True`, `False`, `None` and JSON's
//! own words, lists and dictionaries of these.
//!
//! What is decided goes out at once, so a string streams and only its escapes are held. Grammar: the Python language
//! reference, 2.4 (literals), 6.2.5 and 6.2.7 (displays).

use serde::{Deserialize, Serialize};

use super::escaped;
use super::json::Progress;
use super::python_atom::scalar;
use super::python_string::PythonString;

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
    String,
    /// A string ended; another may be joined to it.
    Joined,
    Colon,
    After,
}

/// What is held while a parenthesis may open a tuple or stand around one value.
const MAX_HELD: usize = 256;

/// Lists, dictionaries and parentheses that are open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Display {
    List,
    Dictionary,
    /// A list in JSON.
    Tuple,
    /// A parenthesis around one value.
    Group,
    /// A parenthesis that is one or the other, and where its value begins in what is held.
    Parenthesis {
        at: u16,
    },
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
    string: PythonString,
    /// A name or number while it is read.
    word: String,
    /// The JSON since the first parenthesis that is undecided.
    held: String,
}

impl Literal {
    /// See [`super::State::is_valid`].
    #[must_use]
    pub fn is_valid(&self) -> bool {
        let in_held = |open: &Display| match open {
            Display::Parenthesis { at } => self.held.is_char_boundary(usize::from(*at)),
            _ => true,
        };
        self.open.len() <= MAX_DEPTH
            && self.open.iter().all(in_held)
            && self.string.is_valid()
            && self.word.len() <= MAX_WORD + 4
            && self.held.len() <= 2 * MAX_HELD
    }

    /// Whether the next character stands inside a string.
    #[must_use]
    pub fn in_string(&self) -> bool {
        self.expect == Expect::String && self.string.is_open()
    }

    /// Whether the value is whole if nothing of it follows.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.open.is_empty() && self.expect == Expect::After
    }

    /// What is still held.
    pub fn take_held(&mut self) -> String {
        std::mem::take(&mut self.held) + &std::mem::take(&mut self.word)
    }

    /// Reads from `text`, appends JSON to `out`, and tells how many bytes were read and how it stands. Blanks around
    /// the value are read; the `,` or `)` that ends it is not.
    pub fn feed(&mut self, text: &str, out: &mut String) -> (usize, Progress) {
        let mut at = 0;
        while let Some(character) = text[at..].chars().next() {
            let held = self.is_undecided();
            let mut target = std::mem::take(if held { &mut self.held } else { &mut *out });
            let (read, progress) = self.next(&text[at..], character, &mut target);
            if held && target.len() > MAX_HELD {
                self.settle(&mut target);
            }
            if !held {
                *out = target;
            } else if self.is_undecided() {
                self.held = target;
            } else {
                out.push_str(&target);
            }
            at += read;
            if progress != Progress::More {
                return (at, progress);
            }
        }
        (at, Progress::More)
    }

    fn next(&mut self, text: &str, character: char, out: &mut String) -> (usize, Progress) {
        if self.expect == Expect::String {
            let (read, progress) = self.string.feed(text, out);
            return match progress {
                Progress::Done => {
                    self.expect = Expect::Joined;
                    (read, Progress::More)
                }
                progress => (read, progress),
            };
        }
        match self.step(character, out) {
            Step::Taken => (character.len_utf8(), Progress::More),
            Step::Again => (0, Progress::More),
            Step::Ended => (0, Progress::Done),
            Step::Refused => (0, Progress::Malformed),
        }
    }

    fn is_undecided(&self) -> bool {
        self.open.iter().any(|open| matches!(open, Display::Parenthesis { .. }))
    }

    /// Too much is held: a long string stands alone, as strings that are joined do, and all else in a tuple.
    fn settle(&mut self, held: &mut String) {
        let in_string = self.expect == Expect::String;
        for (depth, open) in self.open.iter_mut().rev().enumerate() {
            if let Display::Parenthesis { at } = *open {
                *open = if in_string && depth == 0 { Display::Group } else { tuple(held, at) };
            }
        }
    }

    fn step(&mut self, character: char, out: &mut String) -> Step {
        let quote = matches!(character, '"' | '\'');
        match self.expect {
            Expect::Word => self.word(character, out),
            Expect::String => Step::Again,
            _ if character.is_whitespace() => Step::Taken,
            Expect::Item if self.closes(character) => self.close(out),
            Expect::Value | Expect::Item => self.value(character, out),
            Expect::Joined if quote => self.string(character, false),
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
            '[' | '{' | '(' if self.key || self.open.len() >= MAX_DEPTH => Step::Refused,
            '[' | '{' => {
                self.separate(out);
                out.push(character);
                self.open.push(if character == '[' { Display::List } else { Display::Dictionary });
                self.to(Expect::Item)
            }
            '(' => {
                self.separate(out);
                let at = if self.is_undecided() { out.len() } else { 0 };
                self.open.push(Display::Parenthesis { at: u16::try_from(at).unwrap_or(u16::MAX) });
                self.to(Expect::Item)
            }
            '"' | '\'' => {
                self.separate(out);
                out.push('"');
                self.string(character, false)
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
            let raw = match self.word.as_str() {
                "r" | "R" => true,
                "u" | "U" => false,
                _ => return Step::Refused,
            };
            self.word.clear();
            self.separate(out);
            out.push('"');
            return self.string(character, raw);
        }
        let Some(text) = scalar(&self.word) else { return Step::Refused };
        self.separate(out);
        out.push_str(&if self.key { escaped::quoted(&text) } else { text });
        self.word.clear();
        self.expect = if self.key { Expect::Colon } else { Expect::After };
        Step::Again
    }

    fn string(&mut self, quote: char, raw: bool) -> Step {
        self.string = PythonString::new(quote, raw);
        self.to(Expect::String)
    }

    fn after(&mut self, character: char, out: &mut String) -> Step {
        match character {
            ',' | ')' if self.open.is_empty() => Step::Ended,
            ',' => {
                match self.open.last_mut() {
                    Some(Display::Group) => return Step::Refused,
                    Some(open @ &mut Display::Parenthesis { at }) => *open = tuple(out, at),
                    _ => {}
                }
                self.comma = true;
                self.to(Expect::Item)
            }
            _ if self.closes(character) => self.close(out),
            _ => Step::Refused,
        }
    }

    fn closes(&self, character: char) -> bool {
        match self.open.last() {
            Some(Display::List) => character == ']',
            Some(Display::Dictionary) => character == '}',
            Some(Display::Tuple | Display::Group | Display::Parenthesis { .. }) => character == ')',
            None => false,
        }
    }

    fn close(&mut self, out: &mut String) -> Step {
        self.comma = false;
        match self.open.pop() {
            Some(Display::List | Display::Tuple) => out.push(']'),
            Some(Display::Dictionary) => out.push('}'),
            // Nothing stands in it.
            Some(Display::Parenthesis { .. }) if self.expect == Expect::Item => out.push_str("[]"),
            Some(Display::Parenthesis { .. } | Display::Group) | None => {}
        }
        self.key = false;
        self.to(Expect::After)
    }
}

/// A parenthesis turns out to open a tuple.
fn tuple(held: &mut String, at: u16) -> Display {
    if held.is_char_boundary(usize::from(at)) {
        held.insert(usize::from(at), '[');
    }
    Display::Tuple
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a value and the `)` behind it in two pieces; none where it is malformed.
    fn json(text: &str, cut: usize) -> Option<serde_json::Value> {
        let (mut literal, mut out) = (Literal::default(), String::new());
        let whole = format!("{text})");
        let (first, second) = whole.split_at(cut);
        let (read, progress) = literal.feed(first, &mut out);
        let ended = match progress {
            Progress::More => literal.feed(second, &mut out).1 == Progress::Done,
            Progress::Done => read == text.len(),
            Progress::Malformed => false,
        };
        ended.then(|| serde_json::from_str(&out).unwrap_or_else(|_| panic!("{text} became {out}")))
    }

    #[test]
    fn a_long_parenthesis_is_decided_before_its_end() {
        let long = "x".repeat(5000);
        for (text, expected) in [
            (format!("('{long}' 'y')"), format!("\"{long}y\"")),
            (format!("(['{long}'], 1)"), format!("[[\"{long}\"], 1]")),
        ] {
            let (mut literal, mut out) = (Literal::default(), String::new());
            for character in text.chars() {
                literal.feed(character.encode_utf8(&mut [0; 4]), &mut out);
                assert!(literal.held.len() <= MAX_HELD + 16);
            }
            assert_eq!(out, expected);
        }
    }

    /// Expectations: CPython 3.11, `json.dumps(ast.literal_eval(text))`.
    #[test]
    fn literals_are_what_python_reads_in_any_pieces() {
        let cases = [
            ("'a' \"b\"", Some("\"ab\"")),
            ("''", Some("\"\"")),
            ("'''it's \"x\" '' '''", Some("\"it's \\\"x\\\" '' \"")),
            ("r'\\d\\'e'", Some("\"\\\\d\\\\'e\"")),
            ("'\\x41\\u00e9\\U0001f336\\101\\0\\n\\q'", Some("\"A\\u00e9\\ud83c\\udf36A\\u0000\\n\\\\q\"")),
            ("[1, -2.5, .5, 1e3, 0x1f, 1_000, ]", Some("[1, -2.5, 0.5, 1000.0, 31, 1000]")),
            ("{'a': [None, True, {}], 'b': (1)}", Some("{\"a\": [null, true, {}], \"b\": 1}")),
            ("('a', ('b',), (), (1), ((2, 3)))", Some("[\"a\", [\"b\"], [], 1, [2, 3]]")),
            ("[('a' 'b'), (1,)]", Some("[\"ab\", [1]]")),
            ("(1]", None),
            ("{(1, 2): 3}", None),
            ("{'a': [None, True, {}], 'b': False, }", Some("{\"a\": [null, true, {}], \"b\": false}")),
            ("[1 2]", None),
            ("[1, 2}", None),
            ("{'a'}", None),
            ("'\\xzz'", None),
            ("1 + 1", None),
            ("name", None),
        ];
        for (text, expected) in cases {
            let expected = expected.map(|text| serde_json::from_str(text).expect("JSON"));
            for cut in (0..=text.len()).filter(|&cut| text.is_char_boundary(cut)) {
                assert_eq!(json(text, cut), expected, "{text} cut at {cut}");
            }
        }
    }
}
