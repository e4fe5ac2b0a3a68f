//! What stands first in the unread text, behind blanks.

use super::{Input, Markers};

/// What [`take_lead`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lead {
    /// A marker, by its place in the list. It is consumed, and the blanks before it.
    Marker(usize),
    /// Only blanks so far, or what may become a marker. Nothing is consumed.
    Undecided,
    /// Something else, or the end. Nothing is consumed.
    Other,
}

/// Reads a marker where one comes first; of those that fit the longest.
pub fn take_lead(input: &mut Input, markers: &Markers) -> Lead {
    let rest = input.rest();
    let blanks = rest.len() - rest.trim_start().len();
    let tail = &rest[blanks..];
    if tail.is_empty() {
        if let Some(index) = input.special().and_then(|id| markers.of_id(id)) {
            input.take_special_after_blanks();
            return Lead::Marker(index);
        }
        return if input.is_final() { Lead::Other } else { Lead::Undecided };
    }
    let grows = markers.textual().any(|(_, marker)| marker.len() > tail.len() && marker.starts_with(tail));
    if grows && !input.is_final() {
        return Lead::Undecided;
    }
    let fitting = markers.textual().filter(|(_, marker)| tail.starts_with(marker));
    match fitting.max_by_key(|(_, marker)| marker.len()) {
        Some((index, marker)) => {
            input.advance(blanks + marker.len());
            Lead::Marker(index)
        }
        None => Lead::Other,
    }
}
