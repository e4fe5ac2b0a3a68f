//! The pythonic family: a call, and what may follow it.

use super::{MAX_BLANKS, MAX_ECHO, Mode, PythonList, State};
use crate::parse::json::Progress;
use crate::parse::{Context, Events, Input, Lead, Until, take_lead};
use crate::tool::families::python_call::PythonCall;

impl PythonList {
    pub(super) fn call(
        &self,
        state: &mut State,
        input: &mut Input,
        context: &Context,
        events: &mut Events,
    ) -> bool {
        let known = Some(context).filter(|_| state.in_prose);
        let (read, progress) = state.call.feed(input.rest(), known, events);
        input.advance(read);
        if state.call.is_started() {
            state.raw.clear();
        }
        match progress {
            Progress::Done => {
                state.mode = Mode::After;
                true
            }
            Progress::Malformed => {
                Self::malformed(state, events);
                true
            }
            Progress::More => match input.take_special() {
                // A special token in a string is the string's: no block ends there.
                Some((_, text)) if state.call.in_string() => {
                    state.call.feed(&text, known, events);
                    true
                }
                Some((id, _)) if self.close.of_id(id).is_some() && state.call.is_started() => {
                    state.mode = Mode::Text;
                    true
                }
                Some((id, text)) if self.close.of_id(id).is_some() => {
                    Self::malformed(state, events);
                    events.content(&text);
                    true
                }
                _ => false,
            },
        }
    }

    pub(super) fn malformed(state: &mut State, events: &mut Events) {
        let raw = state.call.take_raw();
        if state.call.is_started() {
            events.arguments(&raw);
            state.mode = Mode::Broken;
        } else {
            state.raw.push_str(&raw);
            Self::give_up(state, events);
        }
    }

    pub(super) fn after(&self, state: &mut State, input: &mut Input) -> bool {
        let blanks = blanks(input);
        if blanks > MAX_BLANKS {
            state.mode = Mode::Text;
            return true;
        }
        let Some(character) = input.rest()[blanks..].chars().next() else {
            if input.is_final() {
                state.mode = Mode::Closing;
            }
            return input.is_final();
        };
        match character {
            ',' => {
                input.rest()[..=blanks].clone_into(&mut state.raw);
                input.advance(blanks + 1);
                state.mode = Mode::Before;
            }
            ']' if state.in_list => {
                input.advance(blanks + 1);
                state.mode = Mode::Closing;
            }
            // A new line is as good as a comma.
            _ if PythonCall::begins_with(character)
                && (state.in_list || self.spec.listless)
                && blanks > 0 =>
            {
                input.rest()[..blanks].clone_into(&mut state.raw);
                input.advance(blanks);
                state.mode = Mode::Before;
            }
            _ => state.mode = Mode::Closing,
        }
        true
    }

    /// Looks for the closing marker, which may be missing.
    pub(super) fn closing(&self, state: &mut State, input: &mut Input) -> bool {
        state.in_list = false;
        if blanks(input) > MAX_BLANKS {
            state.mode = Mode::Text;
            return true;
        }
        state.mode = match take_lead(input, &self.close) {
            Lead::Marker(_) => self.closed(),
            Lead::Undecided => return false,
            Lead::Other => {
                // A marker that was cut is no text.
                let rest = input.rest().trim_start();
                if input.is_last() && self.close.begins_with(rest) {
                    input.advance(input.rest().len());
                }
                Mode::Text
            }
        };
        true
    }

    fn closed(&self) -> Mode {
        if self.spec.echoes { Mode::Echo } else { Mode::Text }
    }

    pub(super) fn echo(&self, state: &mut State, input: &mut Input, events: &mut Events) -> bool {
        if state.raw.is_empty() {
            let blanks = blanks(input);
            events.content(&input.rest()[..blanks]);
            input.advance(blanks);
            match input.rest().chars().next() {
                None if !input.is_final() => return false,
                Some('[') => {}
                _ => {
                    state.mode = Mode::Text;
                    return true;
                }
            }
        }
        let (text, until) = input.until(&self.close);
        state.raw.push_str(text);
        if state.raw.len() > MAX_ECHO {
            Self::give_up(state, events);
        }
        match until {
            Until::Marker(_) => {
                state.raw.clear();
                true
            }
            Until::Special { .. } => {
                Self::give_up(state, events);
                true
            }
            Until::End => false,
        }
    }

    pub(super) fn broken(&self, state: &mut State, input: &mut Input, events: &mut Events) -> bool {
        let (text, until) = input.until(&self.close);
        events.arguments(text);
        match until {
            Until::Marker(_) => {
                state.in_list = false;
                state.mode = Mode::Text;
                true
            }
            Until::Special { .. } => true,
            Until::End => false,
        }
    }
}

/// The bytes of blanks that the unread text begins with.
pub(super) fn blanks(input: &Input) -> usize {
    input.rest().len() - input.rest().trim_start().len()
}
