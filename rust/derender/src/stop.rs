//! Stop strings: text is held back until it is decided whether a stop string begins in it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::automaton::Automaton;

/// The stop strings of a request.
#[derive(Debug, Clone, Default)]
pub struct Stops {
    strings: Arc<[String]>,
    automaton: Arc<Automaton>,
    /// Whether the stop string stays in the text.
    include: bool,
}

/// Text that is held back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The longest end of the text so far with which a stop string begins, as a node of the automaton.
    held: u32,
    /// Bytes of the held text in which no stop string may end: they were generated before `min_tokens` tokens.
    exempt: u32,
}

impl Stops {
    /// Stop strings in the order of the request.
    #[must_use]
    pub fn new(strings: Vec<String>, include: bool) -> Self {
        let strings: Arc<[String]> = strings.into_iter().filter(|string| !string.is_empty()).collect();
        let automaton = Arc::new(Automaton::new(strings.iter().map(String::as_bytes)));
        Self { strings, automaton, include }
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

    /// A stop string by its place in the request.
    #[must_use]
    pub fn string(&self, index: u32) -> Option<&str> {
        self.strings.get(index as usize).map(String::as_str)
    }

    /// Takes the next text and appends to `out` what is decided. Returns the place of the stop string that was met, the
    /// one that ends first; all text after it is dropped. `exempt`: no stop string may end in this text.
    pub fn push(&self, state: &mut State, text: &str, exempt: bool, out: &mut String) -> Option<u32> {
        if self.is_empty() {
            out.push_str(text);
            return None;
        }
        let held = self.held(state);
        let exempt = if exempt { held.len() + text.len() } else { state.exempt as usize };
        let mut node = state.held;
        for (at, &byte) in text.as_bytes().iter().enumerate() {
            node = self.automaton.step(node, byte);
            let end = held.len() + at + 1;
            if let Some(index) = self.automaton.ends(node).filter(|_| end > exempt) {
                let length = self.string(index).map_or(0, str::len);
                release(held, text, if self.include { end } else { end - length }, out);
                *state = State::default();
                return Some(index);
            }
        }
        let open = self.automaton.open(node);
        let decided = held.len() + text.len() - self.text(open).len();
        release(held, text, decided, out);
        *state =
            State { held: open, exempt: u32::try_from(exempt.saturating_sub(decided)).unwrap_or(u32::MAX) };
        None
    }

    /// Whether a state that a client carried is one of these stop strings.
    #[must_use]
    pub fn is_valid(&self, state: &State) -> bool {
        let held = self.held(state).len();
        // At the end of a character, where text is cut, and not where the string is complete.
        let known = self.automaton.text(state.held).is_some_and(|(_, depth)| depth == held);
        known && self.automaton.open(state.held) == state.held && state.exempt as usize <= held
    }

    fn held(&self, state: &State) -> &str {
        self.text(state.held)
    }

    fn text(&self, node: u32) -> &str {
        let text = self.automaton.text(node).and_then(|(index, length)| self.string(index)?.get(..length));
        text.unwrap_or_default()
    }

    /// Appends what is held: nothing can follow that would make it a stop string.
    pub fn flush(&self, state: &mut State, out: &mut String) {
        out.push_str(self.held(state));
        *state = State::default();
    }
}

/// Appends the first `count` bytes of `held` and `text` together.
fn release(held: &str, text: &str, count: usize, out: &mut String) {
    let (first, second) = (count.min(held.len()), count.saturating_sub(held.len()));
    out.push_str(&held[..first]);
    out.push_str(&text[..second]);
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
            if let Some(index) = stops.push(&mut state, &piece, false, &mut out) {
                return (out, stops.string(index).map(str::to_owned));
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
        assert_eq!(stops.push(&mut state, " B", false, &mut out), Some(0));
        assert_eq!(out, "A B ");
    }

    /// The straightforward search is the reference.
    #[test]
    fn any_stop_strings_in_any_text() {
        let mut random = 7u64;
        let mut next = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from((random >> 33) % below).expect("small")
        };
        for _ in 0..3000 {
            let mut word = |length: u64| -> String {
                (0..=next(length)).map(|_| ["a", "b", "é", "\u{1f600}"][next(4)]).collect()
            };
            let strings = [word(4), word(3), word(5)];
            let text = word(24);
            let first = (0..=text.len()).filter(|end| text.is_char_boundary(*end)).find_map(|end| {
                strings.iter().find(|string| text[..end].ends_with(*string)).map(|string| (end, string))
            });
            let expected = match first {
                Some((end, string)) => (text[..end - string.len()].to_owned(), Some(string.clone())),
                None => (text.clone(), None),
            };
            let strings: Vec<&str> = strings.iter().map(String::as_str).collect();
            for size in 1..4 {
                assert_eq!(run(&strings, false, &text, size), expected, "{strings:?} in {text}");
            }
        }
    }
}
