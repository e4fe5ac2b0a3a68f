//! What tells one model of the JSON block family from another.

use super::call_object::Keys;

/// A model's form. Start from [`Spec::BLOCK`] and name what differs.
#[derive(Debug, Clone, Copy)]
pub struct Spec {
    /// Any of these opens a block.
    pub open: &'static [&'static str],
    /// Where there are any, one of these must follow the opening marker.
    pub lead: &'static [&'static str],
    /// Any of these closes the block. None: it ends with the JSON.
    pub close: &'static [&'static str],
    pub shape: Shape,
    /// Characters between two calls that are not in a list.
    pub separators: &'static [char],
    pub bare: Bare,
    pub strict: Strict,
    pub unfinished: Unfinished,
    /// Markers of a part of the text in which nothing is a call.
    pub quote: Option<[&'static str; 2]>,
    /// Special tokens that are text of the answer.
    pub shown: &'static [&'static str],
    /// See [`crate::tool::ToolParser::is_native_only`].
    pub native_only: bool,
    pub keys: Keys,
}

/// The JSON in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// One call.
    Object,
    /// A list of calls.
    List,
    /// Either.
    Any,
}

/// Where calls may stand without an opening marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bare {
    Nowhere,
    /// At the start of the answer.
    Start,
    Anywhere,
}

/// Where an object counts as a call only with both name and arguments, and nothing but them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strict {
    Nowhere,
    /// Where no marker says that it is one.
    Bare,
    Everywhere,
}

/// What a block is that ends before its first call has begun: cut, or empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfinished {
    /// Text of the answer.
    Shown,
    /// Nothing: an answer without its last call.
    Dropped,
}

/// The keys of most models.
pub const KEYS: Keys = Keys { name: &["name"], arguments: &["arguments", "parameters"], id: &[] };

impl Spec {
    /// `OPEN {"name": …, "arguments": {…}} CLOSE`, without the markers.
    pub const BLOCK: Self = Self {
        open: &[],
        lead: &[],
        close: &[],
        shape: Shape::Object,
        separators: &[],
        bare: Bare::Nowhere,
        strict: Strict::Nowhere,
        unfinished: Unfinished::Shown,
        quote: None,
        shown: &[],
        native_only: false,
        keys: KEYS,
    };
}
