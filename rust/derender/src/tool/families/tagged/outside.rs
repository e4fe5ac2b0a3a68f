//! Text that is no call's, and how calls begin.

use super::words::{Found, MAX_NAME, Style, may_continue, starts_with};
use super::{Mode, State, Tagged, attribute};
use crate::parse::{Context, Events, Input};

/// Text in front of a call's name that is held; more of it is content.
const MAX_RAW: usize = 384;

/// Whether more text may come, or might have if the output had not been cut.
fn may_come(input: &Input) -> bool {
    !input.is_final() || input.is_last()
}

impl Tagged {
    pub(super) fn text(&self, state: &mut State, input: &mut Input, events: &mut Events) -> bool {
        let (at, found) = self.words.seek(input.rest(), &self.words.openers, input.is_final());
        events.content(&self.words.plain(&input.rest()[..at]));
        input.advance(at);
        let Found::Word(index) = found else { return false };
        let opener = &self.words.openers[index];
        state.raw.clone_from(opener);
        state.called = false;
        state.mode = if *opener == self.words.call { Mode::Name } else { Mode::Outside };
        input.advance(opener.len());
        true
    }

    pub(super) fn outside(&self, state: &mut State, input: &mut Input, events: &mut Events) -> bool {
        if !self.blanks(state, input, events) {
            return true;
        }
        let words = &self.words;
        let text = input.rest();
        let (length, next) = if text.starts_with(&words.call) {
            (words.call.len(), Mode::Name)
        } else if let Some(filler) = words.filler.iter().find(|filler| text.starts_with(*filler)) {
            (filler.len(), Mode::Outside)
        } else if state.called && starts_with(text, &words.wrapper_close) {
            (words.wrapper_close.len(), Mode::Text)
        } else if text.is_empty()
            || (may_come(input)
                && (may_continue(text, &[&words.call, &words.wrapper_close]) || words.may_fill(text)))
        {
            return false;
        } else {
            self.give_up(state, events);
            return true;
        };
        match next {
            Mode::Text => state.raw.clear(),
            // Behind a call it is the call's.
            Mode::Outside if state.called => {}
            _ => state.raw.push_str(&text[..length]),
        }
        input.advance(length);
        state.mode = next;
        true
    }

    /// Reads blanks in front of a call or its first tag. False: there are so many that it is none.
    fn blanks(&self, state: &mut State, input: &mut Input, events: &mut Events) -> bool {
        let blanks = input.rest().len() - input.rest().trim_start().len();
        state.raw.push_str(&input.rest()[..blanks]);
        input.advance(blanks);
        if state.raw.len() > MAX_RAW {
            self.give_up(state, events);
            return false;
        }
        true
    }

    /// What was read since the opener is text, and so is what follows.
    pub(super) fn give_up(&self, state: &mut State, events: &mut Events) {
        let raw = std::mem::take(&mut state.raw);
        events.content(&self.words.plain(&raw));
        state.mode = Mode::Text;
    }

    pub(super) fn name(&self, state: &mut State, input: &mut Input, events: &mut Events) -> bool {
        let rest = input.rest();
        let begun = rest.len() - rest.trim_start().len();
        let ends = |character: char| character == '\n' || character == '>' || self.words.is_first(character);
        let end = rest[begun..].find(ends).map(|length| begun + length);
        let Some(end) = end.filter(|end| *end <= MAX_NAME) else {
            if rest.len() > MAX_NAME || !may_come(input) {
                self.give_up(state, events);
                return true;
            }
            return false;
        };
        let (name, read) = match self.spec.name {
            Style::Attribute if rest[end..].starts_with('>') => (attribute(&rest[..end]).0, end + 1),
            Style::Line if !rest[end..].starts_with('>') => (rest[..end].trim(), end),
            _ => ("", 0),
        };
        let malformed = |character: char| character.is_whitespace() || "\"'{}[]()<>".contains(character);
        if name.is_empty() || name.contains(malformed) {
            self.give_up(state, events);
            return true;
        }
        name.clone_into(&mut state.name);
        state.raw.push_str(&rest[..read]);
        input.advance(read);
        state.mode = Mode::Named;
        true
    }

    pub(super) fn named(
        &self,
        state: &mut State,
        input: &mut Input,
        context: &Context,
        events: &mut Events,
    ) -> bool {
        if !self.blanks(state, input, events) {
            return true;
        }
        let words = &self.words;
        let text = input.rest();
        if text.starts_with(&words.parameter) || text.starts_with(&words.call_close) {
            Self::begin(state, events);
        } else if text.starts_with('{') && context.tool(&state.name).is_some() {
            Self::begin(state, events);
            state.value.open_arguments();
            state.mode = Mode::Value;
        } else if text.is_empty()
            || (may_come(input) && may_continue(text, &[&words.parameter, &words.call_close]))
        {
            return false;
        } else {
            self.give_up(state, events);
        }
        true
    }

    fn begin(state: &mut State, events: &mut Events) {
        state.raw.clear();
        state.called = true;
        state.value = super::value::State::default();
        state.mode = Mode::Inside;
        events.call_start(&state.name, None);
    }
}
