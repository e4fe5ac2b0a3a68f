//! Reading segments up to the next marker, with text held back as long as it may become one.

use std::borrow::Cow;

use memchr::{memchr, memchr2, memchr3};

use super::{Build, Segment};

/// A text that means something to a parser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker {
    text: &'static str,
    /// Its id, where it is a special token: then only the token counts, and the same text does not.
    special: Option<u32>,
}

/// The markers that a parser looks for in one of its modes. They are told by their place in the list.
#[derive(Debug, Clone)]
pub struct Markers {
    list: Vec<Marker>,
    /// The bytes that markers which are text begin with.
    starts: Vec<u8>,
    /// Bytes of the longest of them.
    longest: usize,
}

impl Markers {
    /// Looks the markers up in the vocabulary.
    #[must_use]
    pub fn new(texts: &[&'static str], build: Build<'_>) -> Self {
        let marker = |&text: &&'static str| {
            let special = build.tokenizer.id(text).filter(|&id| build.vocabulary.is_special(id));
            Marker { text, special }
        };
        let list: Vec<Marker> = texts.iter().filter(|text| !text.is_empty()).map(marker).collect();
        let textual = list.iter().filter(|marker| marker.special.is_none());
        let mut starts: Vec<u8> = textual.clone().filter_map(|marker| marker.text.bytes().next()).collect();
        starts.sort_unstable();
        starts.dedup();
        let longest = textual.map(|marker| marker.text.len()).max().unwrap_or(0);
        Self { list, starts, longest }
    }

    /// The text of a marker.
    #[must_use]
    pub fn text(&self, index: usize) -> &'static str {
        self.list.get(index).map_or("", |marker| marker.text)
    }

    /// The id of a marker that is a special token.
    #[must_use]
    pub fn special(&self, index: usize) -> Option<u32> {
        self.list.get(index).and_then(|marker| marker.special)
    }

    /// The marker that is this special token.
    #[must_use]
    pub fn of_id(&self, id: u32) -> Option<usize> {
        self.list.iter().position(|marker| marker.special == Some(id))
    }

    /// Whether `text` is the start of a marker, and not the whole of it.
    #[must_use]
    pub fn begins_with(&self, text: &str) -> bool {
        !text.is_empty()
            && self.list.iter().any(|marker| marker.text.len() > text.len() && marker.text.starts_with(text))
    }

    pub(super) fn textual(&self) -> impl Iterator<Item = (usize, &'static str)> + '_ {
        let textual = self.list.iter().enumerate().filter(|(_, marker)| marker.special.is_none());
        textual.map(|(index, marker)| (index, marker.text))
    }

    /// The first marker in `text`: the earliest, and of those that begin together the longest.
    fn find(&self, text: &str) -> Option<(usize, usize)> {
        let mut from = 0;
        loop {
            let at = from + self.next_start(&text.as_bytes()[from..])?;
            let fitting =
                self.textual().filter(|(_, marker)| text.as_bytes()[at..].starts_with(marker.as_bytes()));
            if let Some((index, _)) = fitting.min_by_key(|(_, marker)| std::cmp::Reverse(marker.len())) {
                return Some((at, index));
            }
            from = at + 1;
        }
    }

    /// Where a marker may begin.
    fn next_start(&self, bytes: &[u8]) -> Option<usize> {
        match *self.starts {
            [] => None,
            [one] => memchr(one, bytes),
            [one, two] => memchr2(one, two, bytes),
            [one, two, three] => memchr3(one, two, three, bytes),
            _ => bytes.iter().position(|byte| self.starts.contains(byte)),
        }
    }

    /// Whether all of `text` from some place up to `at` on is the start of a longer marker, so that what stands at
    /// `at` may turn out to be a part of that.
    fn may_grow(&self, text: &str, at: usize) -> bool {
        let begins = |from: usize| {
            let tail = &text[from..];
            self.textual().any(|(_, marker)| marker.len() > tail.len() && marker.starts_with(tail))
        };
        let from = text.len().saturating_sub(self.longest);
        (from..=at).filter(|&from| text.is_char_boundary(from)).any(begins)
    }

    /// Where the text at the end of `text` begins that more text could make a marker; its length where there is none.
    fn undecided(&self, text: &str) -> usize {
        let from = text.len().saturating_sub(self.longest.saturating_sub(1));
        let mut starts = (from..text.len()).filter(|&at| text.is_char_boundary(at));
        starts
            .find(|&at| self.textual().any(|(_, marker)| marker.starts_with(&text[at..])))
            .unwrap_or(text.len())
    }
}

/// What [`Input::until`] stopped at. All text before it has been returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Until {
    /// A marker, by its place in the list. It is consumed.
    Marker(usize),
    /// A special token that is none of the markers. It is consumed.
    Special { id: u32, text: String },
    /// Nothing is left to read for now.
    End,
}

/// The unread text of a parser: what was held back, then the new segment.
#[derive(Debug)]
pub struct Input<'t> {
    text: Cow<'t, str>,
    at: usize,
    special: Option<(u32, String)>,
    last: bool,
}

impl<'t> Input<'t> {
    /// Joins the text that `held` kept with a segment; `held` is empty then, until [`Input::hold`].
    #[must_use]
    pub fn new(held: &mut String, segment: Segment<'t>) -> Self {
        let held = std::mem::take(held);
        let (text, special) = match segment {
            Segment::Text(more) if held.is_empty() => (Cow::Borrowed(more), None),
            Segment::Text(more) => (Cow::Owned(held + more), None),
            Segment::Special { id, text } => (Cow::Owned(held), Some((id, text.to_owned()))),
        };
        Self { text, at: 0, special, last: false }
    }

    /// The held text, after which no more comes.
    #[must_use]
    pub fn last(held: &mut String) -> Self {
        Self { text: Cow::Owned(std::mem::take(held)), at: 0, special: None, last: true }
    }

    /// Whether no text can follow the text that is here: a special token does, or the end.
    #[must_use]
    pub fn is_final(&self) -> bool {
        self.last || self.special.is_some()
    }

    /// The unread text.
    #[must_use]
    pub fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    /// Marks bytes of the unread text as read. Less than a character or more than the text is not read.
    pub fn advance(&mut self, bytes: usize) {
        if self.text.is_char_boundary(self.at.saturating_add(bytes)) {
            self.at += bytes;
        }
    }

    /// Reads up to the first of `markers`. Text that may become a marker stays unread, unless the text is final.
    pub fn until(&mut self, markers: &Markers) -> (&str, Until) {
        let start = self.at;
        let rest = &self.text[start..];
        if let Some((at, index)) = markers.find(rest)
            && (self.is_final() || !markers.may_grow(rest, at))
        {
            self.at = start + at + markers.text(index).len();
            return (&self.text[start..start + at], Until::Marker(index));
        }
        if !self.is_final() {
            self.at = start + markers.undecided(rest);
            return (&self.text[start..self.at], Until::End);
        }
        self.at = self.text.len();
        let until = match self.special.take() {
            None => Until::End,
            Some((id, text)) => match markers.of_id(id) {
                Some(index) => Until::Marker(index),
                None => Until::Special { id, text },
            },
        };
        (&self.text[start..], until)
    }

    /// How much of the unread text [`Input::until`] would return.
    #[must_use]
    pub fn until_length(&self, markers: &Markers) -> usize {
        let rest = self.rest();
        match markers.find(rest) {
            Some((at, _)) if self.is_final() || !markers.may_grow(rest, at) => at,
            _ if self.is_final() => rest.len(),
            _ => markers.undecided(rest),
        }
    }

    /// The id of the special token behind the unread text.
    #[must_use]
    pub fn special(&self) -> Option<u32> {
        self.special.as_ref().map(|&(id, _)| id)
    }

    /// Whether the output ends behind the unread text.
    #[must_use]
    pub fn is_last(&self) -> bool {
        self.last
    }

    /// The special token, where no text stands before it any more.
    pub fn take_special(&mut self) -> Option<(u32, String)> {
        if self.rest().is_empty() { self.special.take() } else { None }
    }

    /// The special token behind unread text that is blank; both are read.
    pub fn take_special_after_blanks(&mut self) -> Option<(u32, String)> {
        if self.special.is_some() && self.rest().trim_start().is_empty() {
            self.at = self.text.len();
        }
        self.take_special()
    }

    /// Keeps the unread text for the next segment.
    pub fn hold(self, held: &mut String) {
        held.push_str(&self.text[self.at..]);
    }
}
