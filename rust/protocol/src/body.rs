//! The body of a derender request. Most of its bytes are lists of token ids, which are read straight into numbers; all
//! else is read as any other JSON.

use std::borrow::Cow;

use jiter::{Jiter, Peek};

use crate::{Json, Result, bounds, json};

/// A body whose lists of token ids stand apart from its other values.
pub struct Body<'a> {
    /// The body, in which an integer under `token_ids` or `prompt_token_ids` of a response, of a choice or of the body
    /// itself stands for a list, where there are lists.
    pub value: Json<'a>,
    lists: Vec<Vec<u32>>,
}

impl<'a> Body<'a> {
    /// Parses a body.
    ///
    /// # Errors
    /// Those of [`json::parse`].
    pub fn parse(bytes: &'a [u8], limits: &bounds::Bounds) -> Result<Self> {
        bounds::body_bytes(bytes, limits)?;
        bounds::json_depth(bytes, limits)?;
        // What cannot be read so is read once more: then there are no lists, or the error tells what is wrong.
        match Reader::read(bytes) {
            Some(body) => Ok(body),
            None => Ok(Self { value: json::parse(bytes, limits)?, lists: Vec::new() }),
        }
    }

    /// The list of token ids that a value stands for.
    #[must_use]
    pub fn list(&self, value: &Json<'_>) -> Option<&[u32]> {
        let Json::Int(index) = value else { return None };
        self.lists.get(usize::try_from(*index).ok()?).map(Vec::as_slice)
    }
}

struct Reader<'a> {
    body: &'a [u8],
    /// Where `jiter` began: anew behind each list.
    from: usize,
    jiter: Jiter<'a>,
    lists: Vec<Vec<u32>>,
}

impl<'a> Reader<'a> {
    /// Reads a body; none where it is no object, or not well-formed, or has an integer where lists stand.
    fn read(body: &'a [u8]) -> Option<Body<'a>> {
        let mut reader = Self { body, from: 0, jiter: jiter(body), lists: Vec::new() };
        let value = match reader.jiter.peek().ok()? {
            Peek::Object => reader.object()?,
            _ => return None,
        };
        reader.jiter.finish().ok()?;
        Some(Body { value, lists: reader.lists })
    }

    fn object(&mut self) -> Option<Json<'a>> {
        let mut members = Vec::new();
        let mut next = self.jiter.known_object().ok()?.map(str::to_owned);
        while let Some(key) = next {
            let value = self.value(&key)?;
            members.push((Cow::Owned(key), value));
            next = self.jiter.next_key().ok()?.map(str::to_owned);
        }
        Some(json::object(members))
    }

    fn value(&mut self, key: &str) -> Option<Json<'a>> {
        let peek = self.jiter.peek().ok()?;
        match (key, peek) {
            ("generate_response" | "generate_chunk", Peek::Object) => self.object(),
            ("generate_responses" | "choices", Peek::Array) => self.objects(),
            ("token_ids" | "prompt_token_ids", Peek::Array) => self.list(),
            ("token_ids" | "prompt_token_ids", number) if number.is_num() => None,
            _ => self.jiter.known_value(peek).ok(),
        }
    }

    fn objects(&mut self) -> Option<Json<'a>> {
        let mut items = Vec::new();
        let mut next = self.jiter.known_array().ok()?;
        while let Some(peek) = next {
            items.push(match peek {
                Peek::Object => self.object()?,
                _ => self.jiter.known_value(peek).ok()?,
            });
            next = self.jiter.array_step().ok()?;
        }
        Some(json::array(items))
    }

    fn list(&mut self) -> Option<Json<'a>> {
        let at = self.from + self.jiter.current_index();
        let Some((ids, length)) = ids(&self.body[at..]) else {
            return self.jiter.known_value(Peek::Array).ok();
        };
        self.from = at + length;
        self.jiter = jiter(&self.body[self.from..]);
        self.lists.push(ids);
        i64::try_from(self.lists.len() - 1).ok().map(Json::Int)
    }
}

fn jiter(bytes: &[u8]) -> Jiter<'_> {
    Jiter::new(bytes).with_allow_inf_nan()
}

/// Reads the list that `text` begins with, and tells its length; none where it is empty or has other items than
/// integers of at most 7 digits. It stands apart from its caller, whose values would take the registers.
#[inline(never)]
fn ids(text: &[u8]) -> Option<(Vec<u32>, usize)> {
    const BLOCK: usize = 64;
    let mut ids = Vec::with_capacity(memchr::memchr(b']', text)? / 4);
    // Python writes a blank behind a comma, JavaScript none; where both stand in one list, it is only slower.
    let blank = memchr::memchr(b',', text).is_some_and(|comma| text.get(comma + 1) == Some(&b' '));
    let (mask, separator, gap) =
        if blank { (0xffff, u16::from_le_bytes(*b", "), 2) } else { (0xff, u16::from(b','), 1) };
    let mut at = 1;
    loop {
        let (mut block, mut count) = ([0; BLOCK], 0);
        for slot in &mut block {
            let Some(word) = text.get(at..at + 8).and_then(<[u8]>::first_chunk) else { break };
            let digits = Digits::of(u64::from_le_bytes(*word));
            if digits.behind & mask != separator || !digits.are_a_number() {
                break;
            }
            *slot = digits.value();
            count += 1;
            at += digits.length() + gap;
        }
        ids.extend_from_slice(&block[..count]);
        if count == BLOCK {
            continue;
        }
        at += blanks(&text[at..]);
        let digits = Digits::of(padded(&text[at..]));
        if !digits.are_a_number() {
            return None;
        }
        ids.push(digits.value());
        at += digits.length();
        at += blanks(&text[at..]);
        match text.get(at)? {
            b',' => at += 1,
            b']' => return Some((ids, at + 1)),
            _ => return None,
        }
    }
}

fn blanks(text: &[u8]) -> usize {
    text.iter().take_while(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t')).count()
}

/// The first eight bytes of a text as a word, zeros where it is shorter.
fn padded(text: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let length = text.len().min(8);
    bytes[..length].copy_from_slice(&text[..length]);
    u64::from_le_bytes(bytes)
}

/// The digits that a word of eight bytes begins with. The bytes are looked at together, so that the time does not depend
/// on how many of them are digits.
struct Digits {
    /// The word with digits as 0 to 9.
    values: u64,
    /// Eight for each digit.
    bits: u32,
    /// The two bytes behind the digits, of which there are zeros where the word ends.
    behind: u16,
}

impl Digits {
    #[inline]
    fn of(word: u64) -> Self {
        let values = word ^ 0x3030_3030_3030_3030;
        // The highest bit of the sum's bytes, up to the first that is no digit, tells what is none.
        let others = (values.wrapping_add(0x7676_7676_7676_7676) | values) & 0x8080_8080_8080_8080;
        let bits = others.trailing_zeros() & !7;
        let [low, high, ..] = word.wrapping_shr(bits).to_le_bytes();
        Self { values, bits, behind: u16::from_le_bytes([low, high]) }
    }

    /// Whether they are a number as JSON has it, and its end is in the word.
    #[inline]
    fn are_a_number(&self) -> bool {
        let [first, ..] = self.values.to_le_bytes();
        first <= 9 && (first != 0 || self.bits == 8) && self.bits < 64
    }

    #[inline]
    fn length(&self) -> usize {
        (self.bits / 8) as usize
    }

    /// The number that they are.
    #[inline]
    fn value(&self) -> u32 {
        // The digits move to the end of the word, behind zeros; then neighbours join: to pairs, fours and eight.
        let digits = self.values.wrapping_shl(self.bits.wrapping_neg());
        let pairs = (digits.wrapping_mul(10 * 256 + 1) >> 8) & 0x00ff_00ff_00ff_00ff;
        let fours = (pairs.wrapping_mul(100 * 65_536 + 1) >> 16) & 0x0000_ffff_0000_ffff;
        let [.., a, b, c, d] = fours.wrapping_mul((10_000 << 32) + 1).to_le_bytes();
        u32::from_le_bytes([a, b, c, d])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `str::parse` is the reference.
    #[test]
    fn numbers_are_read_as_the_standard_library_reads_them() {
        let texts = (0..2000u32).chain((0..7).flat_map(|power| {
            let ten = 10u32.pow(power);
            [ten - 1, ten, ten + 1, 9 * ten, 5 * ten + 7]
        }));
        for text in texts.map(|number| number.to_string()) {
            for tail in ["", ",", "]", ", 12345678", "}]}:::::", "e5", "\u{ff}"] {
                let mut bytes = format!("{text}{tail}").into_bytes();
                let digits = Digits::of(padded(&bytes));
                bytes.resize(8, 0);
                assert_eq!(digits.are_a_number(), text.len() < 8, "{text}{tail}");
                if text.len() < 8 {
                    let behind = [bytes[text.len()], bytes.get(text.len() + 1).copied().unwrap_or(0)];
                    let found = (digits.value(), digits.length(), digits.behind.to_le_bytes());
                    assert_eq!(found, (text.parse().expect("a number"), text.len(), behind), "{text}{tail}");
                }
            }
        }
        for text in ["", "-1", "01", "12345678", "/", ":", " 1", "x", ",1", ", 1"] {
            assert!(!Digits::of(padded(text.as_bytes())).are_a_number(), "{text}");
        }
    }

    /// `Vec<u32>` of `serde_json` is the reference.
    #[test]
    fn lists_are_read_however_they_are_spaced() {
        let texts: Vec<String> = (0..200u32).map(|index| (index * index * 7).to_string()).collect();
        for separator in [", ", ",", ",\n  ", " , ", ",  "] {
            for count in [1, 2, 63, 64, 65, 200] {
                for (first, last) in [("", ""), (" ", "\n")] {
                    let list = format!("[{first}{}{last}]", texts[..count].join(separator));
                    let expected: Vec<u32> = serde_json::from_str(&list).expect("a list");
                    let body = format!("{list}, 7, 8, 9");
                    assert_eq!(ids(body.as_bytes()), Some((expected, list.len())), "{list}");
                }
            }
        }
        let mixed = b"[1, 22,333, 4444 ,5,6, 7]";
        assert_eq!(ids(mixed), Some((vec![1, 22, 333, 4444, 5, 6, 7], mixed.len())));
        for text in
            ["[]", "[1 2]", "[1,,2]", "[1, , 2]", "[1, 2,]", "[,1]", "[1, 02]", "[1, 2", "[1, -2]", "[1.5]"]
        {
            assert_eq!(ids(text.as_bytes()), None, "{text}");
        }
    }

    /// [`json::parse`] is the reference: what stands for a list is that list, and all else is equal.
    #[test]
    fn lists_stand_apart_and_the_rest_is_as_it_was() {
        let limits = bounds::Bounds::default();
        let read = |text: &str| {
            Body::parse(text.as_bytes(), &limits).map(|body| (body.value.to_static(), body.lists))
        };
        let text = r#"{"generate_response": {"choices": [{"token_ids": [1 ,22,
            333], "x": [1]}, {"token_ids": null}], "prompt_token_ids": [7]}, "chat_request": {"token_ids": [4]}}"#;
        let (value, lists) = read(text).expect("a body");
        assert_eq!(lists, [vec![1, 22, 333], vec![7]]);
        let apart = text.replace("[1 ,22,\n            333]", "0").replace("[7]", "1");
        assert_eq!(value, json::parse(apart.as_bytes(), &limits).expect("JSON"));
        for text in [
            r#"{"prompt_token_ids": [1], "generate_chunk": {"choices": [{"token_ids": 0}]}}"#,
            r#"{"generate_chunk": {"choices": [{"token_ids": [1.0]}, {"token_ids": []}, {"token_ids": ["1"]}, 3]}}"#,
            r#"[{"token_ids": [1]}]"#,
        ] {
            let (value, lists) = read(text).expect("JSON");
            assert!(lists.is_empty(), "{text}");
            assert_eq!(value, json::parse(text.as_bytes(), &limits).expect("JSON"), "{text}");
        }
        for text in ["", "{", r#"{"prompt_token_ids": [1,]}"#, r#"{"prompt_token_ids": [1}"#, r#"{"a": 1} 2"#]
        {
            let expected = json::parse(text.as_bytes(), &limits).expect_err("an error").to_string();
            assert_eq!(read(text).expect_err("an error").to_string(), expected, "{text}");
        }
    }
}
