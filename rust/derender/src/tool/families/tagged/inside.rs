//! A call's parameters.

use super::value::properties;
use super::words::{Closer, Found, MAX_NAME, Style, Verdict, starts_with};
use super::{Mode, State, Tagged, attribute};
use crate::parse::{Context, Events, Input};

impl Tagged {
    pub(super) fn inside(&self, state: &mut State, input: &mut Input, events: &mut Events) -> bool {
        let words = &self.words;
        let rest = input.rest();
        let text = rest.trim_start();
        let blanks = rest.len() - text.len();
        if text.starts_with(&words.parameter) {
            input.advance(blanks + words.parameter.len());
            state.mode = Mode::Key;
        } else if text.starts_with(&words.call_close) {
            input.advance(blanks + words.call_close.len());
            self.end(state, events);
        } else if starts_with(text, &words.wrapper_close) {
            input.advance(blanks);
            self.end(state, events);
        } else if words.openers.iter().any(|opener| text.starts_with(opener)) {
            // The next call begins, and the end of this one was forgotten.
            input.advance(blanks);
            self.end(state, events);
            state.mode = Mode::Text;
        } else if words.may_land(text) {
            input.advance(blanks);
            return false;
        } else {
            state.mode = Mode::Skip;
        }
        true
    }

    fn end(&self, state: &mut State, events: &mut Events) {
        state.value.close_object(events);
        events.call_end();
        state.name.clear();
        state.mode = if self.words.wrapper_close.is_empty() { Mode::Text } else { Mode::Outside };
    }

    pub(super) fn skip(&self, state: &mut State, input: &mut Input) -> bool {
        let (at, found) = self.words.seek(input.rest(), &self.words.landmarks, input.is_final());
        input.advance(at);
        if !matches!(found, Found::Word(_)) {
            return false;
        }
        state.mode = Mode::Inside;
        true
    }

    pub(super) fn key(&self, state: &mut State, input: &mut Input) -> bool {
        let words = &self.words;
        let rest = input.rest();
        let end = match self.spec.key {
            Style::Attribute => {
                rest.find(|character| "\n<>".contains(character) || words.is_first(character))
            }
            Style::Line => rest.find(|character| words.is_first(character)),
        };
        let Some(end) = end.filter(|end| *end <= MAX_NAME) else {
            if rest.len() > MAX_NAME {
                state.mode = Mode::Skip;
            }
            return rest.len() > MAX_NAME;
        };
        let tail = &rest[end..];
        if !tail.starts_with(&words.key_close) {
            if !input.is_final() && words.key_close.starts_with(tail) {
                return false;
            }
            state.mode = Mode::Skip;
            input.advance(end);
            return true;
        }
        let (key, attributes) = match self.spec.key {
            Style::Attribute => attribute(&rest[..end]),
            Style::Line => (rest[..end].trim(), ""),
        };
        state.value.begin(key, attributes);
        let read = end + words.key_close.len();
        state.mode = if key.is_empty() { Mode::Skip } else { Mode::Keyed };
        input.advance(read);
        true
    }

    pub(super) fn keyed(
        &self,
        state: &mut State,
        input: &mut Input,
        context: &Context,
        events: &mut Events,
    ) -> bool {
        let opener = &self.words.value_open;
        if !opener.is_empty() {
            let text = input.rest().trim_start();
            let blanks = input.rest().len() - text.len();
            if !text.starts_with(opener) {
                if opener.starts_with(text) && (text.is_empty() || !input.is_final()) {
                    input.advance(blanks);
                    return false;
                }
                state.mode = Mode::Skip;
                return true;
            }
            input.advance(blanks + opener.len());
        }
        state.value.open(&self.spec, &state.name, context, events);
        state.mode = Mode::Value;
        true
    }

    pub(super) fn value(
        &self,
        state: &mut State,
        input: &mut Input,
        context: &Context,
        events: &mut Events,
    ) -> bool {
        let words = &self.words;
        loop {
            let rest = input.rest();
            let at = rest.find(|character| words.is_first(character)).unwrap_or(rest.len());
            let piece = words.plain(&rest[..at]);
            state.value.push(&piece, self.spec.trim, &state.name, context, events);
            input.advance(at);
            let rest = input.rest();
            let Some(first) = rest.chars().next() else { return false };
            let declared = |key: &str| self.is_declared(&state.name, key, context);
            let literal = match words.verdict(rest, input.is_final(), self.spec.key, declared) {
                Verdict::Undecided => return false,
                Verdict::Closes(closer) => {
                    let read = if closer == Closer::Parameter { words.parameter_close.len() } else { 0 };
                    state.value.close(self.spec.trim, &state.name, context, events);
                    input.advance(read);
                    state.mode = Mode::Inside;
                    return true;
                }
                Verdict::Literal => first.len_utf8(),
            };
            let piece = words.plain(&rest[..literal]);
            state.value.push(&piece, self.spec.trim, &state.name, context, events);
            input.advance(literal);
        }
    }

    /// Whether a tool has this parameter, or may have it.
    fn is_declared(&self, tool: &str, key: &str, context: &Context) -> bool {
        let key = match self.spec.key {
            Style::Attribute => attribute(key).0,
            Style::Line => key.trim(),
        };
        match properties(tool, context) {
            Some(known) => known.contains_key(key),
            None => !key.is_empty() && !key.contains(char::is_whitespace),
        }
    }
}
