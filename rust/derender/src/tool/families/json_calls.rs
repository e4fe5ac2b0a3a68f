//! The JSON block family inside of a block: before a call, in it, and after it.

use super::call_object::CallObject;
use super::json_block::{JsonBlock, Mode, State};
use super::json_spec::{Shape, Strict, Unfinished};
use crate::parse::json::Progress;
use crate::parse::{Context, Events, Input, Lead, Until, take_lead};
use crate::tool::ToolParser;

/// Blanks inside a block that are held. More of them make it none.
const MAX_BLANKS: usize = 64;

impl JsonBlock {
    pub(super) fn lead(&self, state: &mut State, input: &mut Input, events: &mut Events) -> bool {
        match take_lead(input, &self.lead) {
            Lead::Marker(index) => {
                state.raw.push_str(self.lead.text(index));
                state.mode = Mode::Before;
            }
            Lead::Undecided if input.rest().len() <= MAX_BLANKS => return false,
            Lead::Other if input.is_last() && input.rest().is_empty() => return false,
            Lead::Undecided | Lead::Other => Self::give_up(state, events),
        }
        true
    }

    pub(super) fn before(&self, state: &mut State, input: &mut Input, events: &mut Events) -> bool {
        if self.spec.unfinished == Unfinished::Dropped && !state.bare && state.body.is_empty() {
            match take_lead(input, &self.close) {
                Lead::Marker(_) => {
                    state.raw.clear();
                    Self::leave(state);
                    return true;
                }
                Lead::Undecided if !input.rest().trim_start().is_empty() => return false,
                Lead::Undecided | Lead::Other => {}
            }
        }
        let Some(character) = input.rest().chars().next() else {
            let Some(id) = input.special() else { return false };
            // The marker that leads into the block may come once more.
            match self.lead.of_id(id).and_then(|_| input.take_special()) {
                Some((_, text)) => state.raw.push_str(&text),
                None => Self::give_up(state, events),
            }
            return true;
        };
        let (listed, shape) = (state.in_list, self.spec.shape);
        match character {
            '{' if listed || shape != Shape::List => {
                let strict = match self.spec.strict {
                    Strict::Nowhere => false,
                    Strict::Bare => state.bare,
                    Strict::Everywhere => true,
                };
                state.object = CallObject::strict(strict);
                state.mode = Mode::Object;
            }
            '[' if !listed && shape != Shape::Object => {
                state.open_list("");
                input.advance(1);
            }
            ']' if listed && self.spec.unfinished == Unfinished::Dropped && state.body.trim_end() == "[" => {
                input.advance(1);
                state.raw.clear();
                state.body.clear();
                state.in_list = false;
                state.mode = Mode::After;
            }
            _ if character.is_whitespace() && state.raw.len() + state.body.len() < MAX_BLANKS => {
                if state.body.is_empty() { &mut state.raw } else { &mut state.body }.push(character);
                input.advance(character.len_utf8());
            }
            _ => Self::give_up(state, events),
        }
        true
    }

    pub(super) fn object(
        &self,
        state: &mut State,
        input: &mut Input,
        context: &Context,
        events: &mut Events,
    ) -> bool {
        let (read, progress) = state.object.feed(self.spec.keys, input.rest(), context, events);
        input.advance(read);
        if state.object.has_told() {
            state.raw.clear();
            state.body.clear();
        }
        match progress {
            Progress::Done => {
                Self::called(state);
                true
            }
            Progress::Malformed => {
                Self::malformed(state, events);
                true
            }
            Progress::More if input.special().is_none() => false,
            Progress::More if state.object.in_string() => {
                // A special token in a string is the string's: no block ends there.
                let text = input.take_special().map(|(_, text)| text).unwrap_or_default();
                let (_, progress) = state.object.feed(self.spec.keys, &text, context, events);
                if progress == Progress::Malformed {
                    Self::malformed(state, events);
                }
                true
            }
            Progress::More => {
                let ends = input.special().is_some_and(|id| self.is_marker(id));
                if ends && state.object.end_whole(events) {
                    Self::called(state);
                } else if ends && state.object.is_started() {
                    // The call stays without its end.
                    Self::leave(state);
                    if input.special().is_some_and(|id| self.close.of_id(id).is_some()) {
                        input.take_special();
                    }
                } else if ends {
                    Self::malformed(state, events);
                } else {
                    input.take_special();
                }
                true
            }
        }
    }

    /// A call is complete.
    fn called(state: &mut State) {
        state.object = CallObject::default();
        state.after_call = true;
        state.mode = Mode::After;
    }

    fn malformed(state: &mut State, events: &mut Events) {
        if state.object.end_whole(events) {
            Self::called(state);
        } else if state.object.is_started() {
            state.mode = Mode::Broken;
        } else {
            let raw = state.object.take_raw();
            state.body.push_str(&raw);
            Self::give_up(state, events);
        }
    }

    pub(super) fn after(&self, state: &mut State, input: &mut Input) -> bool {
        let rest = input.rest();
        let blanks = rest.len() - rest.trim_start().len();
        let first = rest[blanks..].chars().next();
        match first {
            Some(',') if state.in_list => {
                state.body.push(',');
                input.advance(blanks + 1);
                state.mode = Mode::Before;
                return true;
            }
            Some(']') if state.in_list => {
                input.advance(blanks + 1);
                state.in_list = false;
                return true;
            }
            Some(separator) if !state.in_list && self.spec.separators.contains(&separator) => {
                state.raw.push(separator);
                input.advance(blanks + separator.len_utf8());
                state.mode = Mode::Before;
                return true;
            }
            _ => {}
        }
        match take_lead(input, &self.close) {
            Lead::Undecided if input.rest().len() <= MAX_BLANKS => return false,
            // The output ends inside of the closing marker.
            Lead::Other if input.is_last() && self.close.begins_with(input.rest().trim_start()) => {
                input.advance(input.rest().len());
            }
            Lead::Undecided | Lead::Marker(_) | Lead::Other => {}
        }
        Self::leave(state);
        true
    }

    fn leave(state: &mut State) {
        state.in_list = false;
        state.mode = Mode::Text;
    }

    pub(super) fn broken(&self, state: &mut State, input: &mut Input, events: &mut Events) -> bool {
        let (text, until) = input.until(&self.close);
        events.arguments(text);
        match until {
            Until::Marker(_) => Self::leave(state),
            Until::Special { id, .. } => {
                if let Some(index) = self.open.of_id(id) {
                    self.open_block(state, self.open.text(index));
                }
            }
            Until::End => return false,
        }
        true
    }
}
