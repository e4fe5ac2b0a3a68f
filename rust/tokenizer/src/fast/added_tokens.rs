//! Finding the added tokens in a text, by the rules of `tokenizers`.

use aho_corasick::{AhoCorasick, Anchored, Input, Match, MatchKind, StartKind};

/// An added token of a `tokenizer.json`.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "the file's own fields")]
pub struct AddedToken {
    /// Its text.
    pub content: String,
    /// Only where no word character touches it.
    pub single_word: bool,
    /// With the white space on its left.
    pub lstrip: bool,
    /// With the white space on its right.
    pub rstrip: bool,
    /// Looked for in the normalised text.
    pub normalized: bool,
    /// Left out by `skip_special_tokens`.
    pub special: bool,
}

impl AddedToken {
    /// Whether it matches exactly its own text, wherever that stands.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        !self.single_word && !self.lstrip && !self.rstrip
    }
}

impl From<tokenizers::AddedToken> for AddedToken {
    fn from(token: tokenizers::AddedToken) -> Self {
        let tokenizers::AddedToken { content, single_word, lstrip, rstrip, normalized, special } = token;
        Self { content, single_word, lstrip, rstrip, normalized, special }
    }
}

/// A part of a text: an added token with its id, or text between, and its range in bytes.
pub type Part = (Option<u32>, usize, usize);

/// Up to so many first bytes, the automaton looks for them with vector instructions.
const FEW_STARTS: usize = 3;

/// Looks for a set of added tokens: the leftmost first, of those the longest.
pub struct Finder {
    automaton: AhoCorasick,
    /// The bytes that tokens begin with, where there are so many that the automaton has no fast way to the next:
    /// then it is asked only where one stands.
    starts: Option<Box<[bool; 256]>>,
    /// Ids, by the pattern's number.
    ids: Vec<u32>,
    tokens: Vec<AddedToken>,
}

impl Finder {
    /// A finder of `tokens` with their ids; none where there are no tokens.
    ///
    /// # Errors
    /// Too many tokens for the automaton.
    pub fn new(tokens: Vec<(u32, AddedToken)>) -> Result<Option<Self>, aho_corasick::BuildError> {
        if tokens.is_empty() {
            return Ok(None);
        }
        let mut starts = Box::new([false; 256]);
        for (_, token) in &tokens {
            if let Some(&first) = token.content.as_bytes().first() {
                starts[usize::from(first)] = true;
            }
        }
        let starts = (starts.iter().filter(|&&start| start).count() > FEW_STARTS).then_some(starts);
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .start_kind(if starts.is_some() { StartKind::Anchored } else { StartKind::Unanchored })
            .build(tokens.iter().map(|(_, token)| &token.content))?;
        let (ids, tokens) = tokens.into_iter().unzip();
        Ok(Some(Self { automaton, starts, ids, tokens }))
    }

    /// The first match from a place on.
    fn next(&self, text: &str, mut from: usize) -> Option<Match> {
        let Some(starts) = &self.starts else {
            return self.automaton.try_find(Input::new(text).range(from..)).ok().flatten();
        };
        loop {
            from += text.as_bytes().get(from..)?.iter().position(|&byte| starts[usize::from(byte)])?;
            let input = Input::new(text).range(from..).anchored(Anchored::Yes);
            if let Some(found) = self.automaton.try_find(input).ok()? {
                return Some(found);
            }
            from += 1;
        }
    }

    /// Fills `parts` with the parts of a text, in order and none empty. They cover the text; only where a token
    /// takes the white space on its right may the next token lie within it.
    pub fn split(&self, text: &str, parts: &mut Vec<Part>) {
        parts.clear();
        let mut done = 0;
        let mut searched = 0;
        while let Some(found) = self.next(text, searched) {
            searched = found.end();
            let (mut start, mut end) = (found.start(), found.end());
            let number = found.pattern().as_usize();
            let token = &self.tokens[number];
            if !token.is_plain() {
                if token.single_word && (ends_with_word(&text[..start]) || starts_with_word(&text[end..])) {
                    continue;
                }
                if token.lstrip {
                    start = text[..start].trim_end().len().max(done);
                }
                if token.rstrip {
                    end = text.len() - text[end..].trim_start().len();
                }
            }
            if done < start {
                parts.push((None, done, start));
            }
            if start < end {
                parts.push((Some(self.ids[number]), start, end));
            }
            done = end;
        }
        if done < text.len() {
            parts.push((None, done, text.len()));
        }
    }
}

/// Fills `parts` where there is nothing to find.
pub fn whole(text: &str, parts: &mut Vec<Part>) {
    parts.clear();
    if !text.is_empty() {
        parts.push((None, 0, text.len()));
    }
}

fn ends_with_word(text: &str) -> bool {
    text.chars().next_back().is_some_and(is_word)
}

fn starts_with_word(text: &str) -> bool {
    text.chars().next().is_some_and(is_word)
}

/// `\w`.
fn is_word(character: char) -> bool {
    regex_syntax::try_is_word_character(character).unwrap_or_default()
}
