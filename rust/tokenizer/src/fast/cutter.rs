//! Cutting text where no merge can reach across: that of a SentencePiece model, which knows no words, and long words.
//!
//! Merges on both sides of two neighbouring characters do not touch each other unless some merge makes a token that
//! has these two characters side by side. So a text may be cut between any two that no such token has, and the parts
//! encode each on its own, as cached words do. A few pairs are held to be joined that are not: that costs time only.

use crate::pretokenize::classes::code_point;

/// Stands for a blank in the vocabulary.
pub const BLANK: char = '\u{2581}';

/// Bits in the number of a pair outside ASCII.
const BITS: u32 = 20;

/// The pairs of characters that some merge joins.
pub struct Cutter {
    ascii: [u128; 128],
    others: Box<[u64]>,
    /// By the last byte of the left character, the first bytes of the right one: pairs of which some token has one
    /// character only in part, as happens in byte-level models.
    partial: Box<[[u64; 4]; 256]>,
    at_blanks: bool,
}

impl Cutter {
    /// Joins nothing. With `at_blanks`, a word begins at every blank, whatever merges say.
    pub fn new(at_blanks: bool) -> Self {
        Self {
            ascii: [0; 128],
            others: vec![0; 1 << (BITS - 6)].into(),
            partial: Box::new([[0; 4]; 256]),
            at_blanks,
        }
    }

    /// Joins the neighbours within a token that a merge makes.
    pub fn join(&mut self, token: &str) {
        let mut before = None;
        for next in token.chars() {
            let next = if next == BLANK { ' ' } else { next };
            if let Some(before) = before {
                self.join_pair(before, u32::from(next));
            }
            before = Some(u32::from(next));
        }
    }

    /// Joins the neighbours within a token of bytes, which may begin and end in the middle of a character.
    pub fn join_bytes(&mut self, token: &[u8]) {
        let (mut start, mut before) = (0, None);
        while start < token.len() {
            let (code, length) = code_point(token, start);
            let whole =
                token.get(start..start + length).is_some_and(|bytes| std::str::from_utf8(bytes).is_ok());
            let continued = |byte: &u8| byte & 0xc0 == 0x80;
            let length = if whole {
                length
            } else {
                1 + token[start + 1..].iter().take_while(|byte| continued(byte)).count()
            };
            if let Some((left, left_whole)) = before {
                if left_whole && whole {
                    self.join_pair(left, code);
                } else {
                    let (last, first) = (token[start - 1] as usize, token[start]);
                    self.partial[last][usize::from(first >> 6)] |= 1 << (first & 63);
                }
            }
            before = Some((code, whole));
            start += length;
        }
    }

    fn join_pair(&mut self, left: u32, right: u32) {
        if left < 128 && right < 128 {
            self.ascii[left as usize] |= 1 << right;
        } else {
            let bit = bit(left, right);
            self.others[bit / 64] |= 1 << (bit % 64);
        }
    }

    /// Whether some token has the two characters side by side, whose codes and neighbouring bytes these are.
    #[inline]
    fn joins(&self, (left, last): (u32, u8), (right, first): (u32, u8)) -> bool {
        if self.at_blanks && right == u32::from(b' ') {
            return false;
        }
        if left < 128 && right < 128 {
            return self.ascii[left as usize] >> right & 1 != 0;
        }
        let bit = bit(left, right);
        self.others[bit / 64] >> (bit % 64) & 1 != 0 || self.joins_partly(last, first)
    }

    /// Whether some token has two neighbouring bytes of two characters, and one of these only in part.
    #[inline]
    pub fn joins_partly(&self, last: u8, first: u8) -> bool {
        self.partial[last as usize][usize::from(first >> 6)] >> (first & 63) & 1 != 0
    }

    /// Calls `word` with the start and the end of every part, in order; together they cover the text.
    #[inline]
    pub fn split(&self, text: &[u8], mut word: impl FnMut(usize, usize)) {
        let (mut start, mut place) = (0, 0);
        let mut before = None;
        while place < text.len() {
            let (code, length) = code_point(text, place);
            let code = if code == u32::from(BLANK) { u32::from(b' ') } else { code };
            if before.is_some_and(|before| !self.joins((before, text[place - 1]), (code, text[place]))) {
                word(start, place);
                start = place;
            }
            before = Some(code);
            place += length;
        }
        if start < place {
            word(start, place.min(text.len()));
        }
    }
}

#[inline]
fn bit(left: u32, right: u32) -> usize {
    let pair = u64::from(left) << 21 | u64::from(right);
    (pair.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - BITS)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(cutter: &Cutter, text: &str) -> Vec<String> {
        let mut parts = Vec::new();
        cutter.split(text.as_bytes(), |start, end| parts.push(text[start..end].to_owned()));
        parts
    }

    #[test]
    fn cuts_only_where_no_token_joins() {
        let mut cutter = Cutter::new(false);
        for token in ["ab", "\u{2581}a", "\u{2581}\u{2581}", "é!"] {
            cutter.join(token);
        }
        assert_eq!(parts(&cutter, "  ab abé!b"), ["  ab", " ab", "é!", "b"]);
        assert_eq!(parts(&cutter, ""), [""; 0]);
        assert_eq!(parts(&cutter, "\u{2581}ab\u{2581}b"), ["\u{2581}ab", "\u{2581}", "b"]);
    }

    #[test]
    fn tokens_of_bytes_join_parts_of_characters() {
        let mut cutter = Cutter::new(false);
        // Ends with the first byte of ß; begins with the last of 中, and is a whole 文 and a whole é.
        for token in [&b"a\xc3"[..], b"\xad\xe6\x96\x87", "文é".as_bytes()] {
            cutter.join_bytes(token);
        }
        assert_eq!(parts(&cutter, "aß中文éa中"), ["aß", "中文é", "a", "中"]);
    }

    #[test]
    fn cuts_at_every_blank_where_told() {
        let mut cutter = Cutter::new(true);
        for token in ["\u{2581}\u{2581}", "a\u{2581}", "\u{2581}a"] {
            cutter.join(token);
        }
        assert_eq!(parts(&cutter, "a  a"), ["a", " ", " a"]);
    }
}
