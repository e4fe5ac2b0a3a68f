//! Stop strings: text is held back until it is decided whether a stop string begins in it.

use serde::{Deserialize, Serialize};

/// The stop strings of a request.
#[derive(Debug, Clone, Default)]
pub struct Stops {
    strings: Vec<String>,
    /// Whether the stop string stays in the text.
    include: bool,
}

/// Text that is held back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    held: String,
    /// Bytes of the held text in which no stop string may end: they came before `min_tokens` tokens.
    exempt: usize,
}

impl Stops {
    /// Stop strings in the order of the request.
    #[must_use]
    pub fn new(strings: Vec<String>, include: bool) -> Self {
        Self { strings: strings.into_iter().filter(|string| !string.is_empty()).collect(), include }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.strings.is_empty()
    }

    /// The stop strings.
    #[must_use]
    pub fn strings(&self) -> &[String] {
        &self.strings
    }

    /// Takes the next text and appends to `out` what is decided. Returns the stop string that was met, the one that
    /// ends first; all text after it is dropped. `exempt`: no stop string may end in this text.
    pub fn push(&self, state: &mut State, text: &str, exempt: bool, out: &mut String) -> Option<&str> {
        if self.is_empty() {
            out.push_str(text);
            return None;
        }
        state.held.push_str(text);
        if exempt {
            state.exempt = state.held.len();
        }
        let ends = |string: &str| {
            // A string that ends in the exempt text does not count; it may begin there.
            let mut from = (state.exempt + 1).saturating_sub(string.len()).min(state.held.len());
            while !state.held.is_char_boundary(from) {
                from += 1;
            }
            state.held[from..].find(string).map(|at| from + at + string.len())
        };
        let found = self
            .strings
            .iter()
            .filter_map(|string| Some((ends(string)?, string)))
            .min_by_key(|found| found.0);
        if let Some((end, string)) = found {
            let cut = if self.include { end } else { end - string.len() };
            out.push_str(&state.held[..cut]);
            *state = State::default();
            return Some(string);
        }
        let undecided = self.undecided(&state.held);
        out.push_str(&state.held[..undecided]);
        state.held.drain(..undecided);
        state.exempt = state.exempt.saturating_sub(undecided);
        None
    }

    /// Appends what is held: nothing can follow that would make it a stop string.
    pub fn flush(&self, state: &mut State, out: &mut String) {
        out.push_str(&state.held);
        *state = State::default();
    }

    /// Where the end of `text` begins that is the start of a stop string.
    fn undecided(&self, text: &str) -> usize {
        let longest = self.strings.iter().map(String::len).max().unwrap_or(0);
        let from = text.len().saturating_sub(longest.saturating_sub(1));
        let mut starts = (from..text.len()).filter(|&at| text.is_char_boundary(at));
        let begins = |at: &usize| self.strings.iter().any(|string| string.starts_with(&text[*at..]));
        starts.find(begins).unwrap_or(text.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds `text` in pieces of `size` characters.
    fn run(strings: &[&str], include: bool, text: &str, size: usize) -> (String, Option<String>) {
        let stops = Stops::new(strings.iter().map(ToString::to_string).collect(), include);
        let (mut state, mut out) = (State::default(), String::new());
        let characters: Vec<char> = text.chars().collect();
        for piece in characters.chunks(size) {
            let piece: String = piece.iter().collect();
            if let Some(string) = stops.push(&mut state, &piece, false, &mut out) {
                return (out, Some(string.to_owned()));
            }
        }
        stops.flush(&mut state, &mut out);
        (out, None)
    }

    /// Expected: what vLLM's coupled server gives (`conformance/derender/none__none__qwen3.jsonl`, field `coupled`).
    #[test]
    fn a_stop_string_cuts_the_text_in_pieces_of_any_size() {
        for size in 1..8 {
            assert_eq!(run(&["aaab"], false, "aaaaaab rest", size), ("aaa".into(), Some("aaab".into())));
            assert_eq!(run(&["ell"], true, "Hello world", size), ("Hell".into(), Some("ell".into())));
            assert_eq!(run(&["zzz", " B", "A B"], false, "A B C", size), ("A".into(), Some(" B".into())));
            assert_eq!(run(&["STOP"], false, "A B STO", size), ("A B STO".into(), None));
        }
    }

    #[test]
    fn no_stop_string_ends_in_exempt_text_but_it_may_begin_there() {
        let stops = Stops::new(vec!["A B".to_owned()], false);
        let (mut state, mut out) = (State::default(), String::new());
        assert_eq!(stops.push(&mut state, "A B A", true, &mut out), None);
        assert_eq!(stops.push(&mut state, " B", false, &mut out), Some("A B"));
        assert_eq!(out, "A B ");
    }
}
