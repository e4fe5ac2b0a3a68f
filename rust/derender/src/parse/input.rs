//! Reading segments up to the next marker, with text held back as long as it may become one.

use super::{Build, Segment};

/// A text that means something to a parser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker {
    text: &'static str,
    /// Its id, where it is a special token: then only the token counts, and the same text does not.
    special: Option<u32>,
}

/// Bytes that are searched for the markers first.
const WINDOW: usize = 256;

/// The markers that a parser looks for in one of its modes. They are told by their place in the list.
#[derive(Debug, Clone)]
pub struct Markers(Vec<Marker>);

impl Markers {
    /// Looks the markers up in the vocabulary.
    #[must_use]
    pub fn new(texts: &[&'static str], build: Build<'_>) -> Self {
        let marker = |&text: &&'static str| {
            let special = build.tokenizer.id(text).filter(|&id| build.vocabulary.is_special(id));
            Marker { text, special }
        };
        Self(texts.iter().filter(|text| !text.is_empty()).map(marker).collect())
    }

    /// The text of a marker.
    #[must_use]
    pub fn text(&self, index: usize) -> &'static str {
        self.0.get(index).map_or("", |marker| marker.text)
    }

    /// The id of a marker that is a special token.
    #[must_use]
    pub fn special(&self, index: usize) -> Option<u32> {
        self.0.get(index).and_then(|marker| marker.special)
    }

    /// The marker that is this special token.
    #[must_use]
    pub fn of_id(&self, id: u32) -> Option<usize> {
        self.0.iter().position(|marker| marker.special == Some(id))
    }

    /// Whether `text` is the start of a marker, and not the whole of it.
    #[must_use]
    pub fn begins_with(&self, text: &str) -> bool {
        !text.is_empty()
            && self.0.iter().any(|marker| marker.text.len() > text.len() && marker.text.starts_with(text))
    }

    pub(super) fn textual(&self) -> impl Iterator<Item = (usize, &'static str)> + '_ {
        let textual = self.0.iter().enumerate().filter(|(_, marker)| marker.special.is_none());
        textual.map(|(index, marker)| (index, marker.text))
    }

    /// The first marker in `text`: the earliest, and of those that begin together the longest.
    ///
    /// It looks through growing windows, so that the time is that of the way to the marker, however far another is.
    fn find(&self, text: &str) -> Option<(usize, usize)> {
        let longest = self.textual().map(|(_, marker)| marker.len()).max()?;
        let mut reach = WINDOW;
        loop {
            let mut end = reach.saturating_add(longest).min(text.len());
            while !text.is_char_boundary(end) {
                end += 1;
            }
            let window = &text[..end];
            let found = self
                .textual()
                .filter_map(|(index, marker)| Some((window.find(marker)?, marker.len(), index)));
            let first = found.min_by_key(|&(at, length, _)| (at, std::cmp::Reverse(length)));
            match first {
                Some((at, _, index)) if at < reach || end == text.len() => return Some((at, index)),
                _ if end == text.len() => return None,
                _ => reach = reach.saturating_mul(2),
            }
        }
    }

    /// Whether all of `text` from some place up to `at` on is the start of a longer marker, so that what stands at
    /// `at` may turn out to be a part of that.
    fn may_grow(&self, text: &str, at: usize) -> bool {
        let begins = |from: usize| {
            let tail = &text[from..];
            self.textual().any(|(_, marker)| marker.len() > tail.len() && marker.starts_with(tail))
        };
        let longest = self.textual().map(|(_, marker)| marker.len()).max().unwrap_or(0);
        let from = text.len().saturating_sub(longest);
        (from..=at).filter(|&from| text.is_char_boundary(from)).any(begins)
    }

    /// Where the text at the end of `text` begins that more text could make a marker; its length where there is none.
    fn undecided(&self, text: &str) -> usize {
        let longest = self.textual().map(|(_, marker)| marker.len()).max().unwrap_or(0);
        let from = text.len().saturating_sub(longest.saturating_sub(1));
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
pub struct Input {
    text: String,
    at: usize,
    special: Option<(u32, String)>,
    last: bool,
}

impl Input {
    /// Joins the text that `held` kept with a segment; `held` is empty then, until [`Input::hold`].
    #[must_use]
    pub fn new(held: &mut String, segment: Segment<'_>) -> Self {
        let mut text = std::mem::take(held);
        let special = match segment {
            Segment::Text(more) => {
                text.push_str(more);
                None
            }
            Segment::Special { id, text } => Some((id, text.to_owned())),
        };
        Self { text, at: 0, special, last: false }
    }

    /// The held text, after which no more comes.
    #[must_use]
    pub fn last(held: &mut String) -> Self {
        Self { text: std::mem::take(held), at: 0, special: None, last: true }
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
