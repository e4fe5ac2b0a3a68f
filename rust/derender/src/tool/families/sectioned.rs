//! The sectioned family: a section of calls, each with a header and JSON arguments between markers.
//!
//! ```text
//! text SECTION OPEN header ARGUMENTS {…} CLOSE OPEN … CLOSE END text
//! ```
//!
//! The call begins with its arguments' marker. Before that, text that is no call is content, markers included. The
//! arguments are passed on word for word; what stands inside one of their strings is the string's, even a marker. They
//! are whole when they are JSON and the closing marker, or the end, follows.

use serde::{Deserialize, Serialize};

use crate::parse::json::{Progress, Scanner};
use crate::parse::{self, Context, Events, Input, Markers, Segment, Until};
use crate::tool::{ToolBuild, ToolParser};

/// How a call is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Header {
    /// The header is the name.
    Name,
    /// A type, this marker, then the name.
    Typed(&'static str),
    /// `functions.NAME:NUMBER`, which is the call's id too; models leave parts of it out. A header without a name is no
    /// call, and is read over.
    Id,
}

/// What tells one model of the family from another.
#[derive(Debug, Clone, Copy)]
pub struct Spec {
    pub section: &'static [&'static str],
    pub section_end: &'static [&'static str],
    pub open: &'static str,
    pub header: Header,
    /// Ends the header.
    pub arguments: &'static str,
    /// Stands between the arguments and the closing marker, if at all.
    pub fence: &'static str,
    pub close: &'static str,
}

/// The text of a header that is held; more of it is content.
const MAX_HEADER: usize = 256;

/// What a marker means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Section,
    SectionEnd,
    Open,
    Type,
    Arguments,
    Close,
}

/// Markers with their meanings.
struct Signs {
    markers: Markers,
    signs: Vec<Sign>,
}

impl Signs {
    fn new(of: &[(Sign, &'static str)], build: ToolBuild<'_>) -> Self {
        let texts: Vec<&'static str> = of.iter().map(|&(_, text)| text).collect();
        Self { markers: Markers::new(&texts, build), signs: of.iter().map(|&(sign, _)| sign).collect() }
    }

    fn sign(&self, index: usize) -> Option<Sign> {
        self.signs.get(index).copied()
    }
}

/// A compiled spec.
pub struct Sectioned {
    spec: Spec,
    /// What begins calls, in text.
    text: Signs,
    /// What can come between calls.
    section: Signs,
    /// What can come in a header.
    header: Signs,
    /// What can come after arguments.
    close: Signs,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Mode {
    #[default]
    Text,
    Section,
    Type,
    Header,
    Arguments,
    /// After the arguments.
    Closing,
    /// In arguments that are malformed.
    Broken,
    /// In a call that has no name.
    Nameless,
}

/// Where the parser stands.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct State {
    mode: Mode,
    held: String,
    /// Markers and header as long as the call has not begun.
    raw: String,
    header: String,
    scanner: Scanner,
    /// Whether any of the arguments has been told.
    told: bool,
}

impl parse::State for State {
    fn is_valid(&self) -> bool {
        parse::are_bounded(&[&self.held, &self.raw, &self.header]) && self.scanner.is_valid()
    }
}

impl Sectioned {
    /// Compiles a spec for a vocabulary.
    #[must_use]
    pub fn new(spec: Spec, build: ToolBuild<'_>) -> Self {
        let each = |sign: Sign, texts: &'static [&'static str]| texts.iter().map(move |&text| (sign, text));
        let ends: Vec<_> = each(Sign::SectionEnd, spec.section_end).collect();
        let mut text: Vec<_> = each(Sign::Section, spec.section).collect();
        text.push((Sign::Open, spec.open));
        let mut section = vec![(Sign::Open, spec.open)];
        section.extend(&ends);
        let mut close = vec![(Sign::Close, spec.close), (Sign::Open, spec.open)];
        close.extend(&ends);
        let mut header = vec![(Sign::Arguments, spec.arguments)];
        if let Header::Typed(marker) = spec.header {
            header.push((Sign::Type, marker));
        }
        header.extend(&close);
        let signs = |of: &[(Sign, &'static str)]| Signs::new(of, build);
        Self {
            spec,
            text: signs(&text),
            section: signs(&section),
            header: signs(&header),
            close: signs(&close),
        }
    }

    fn run(&self, state: &mut State, input: &mut Input, events: &mut Events) {
        loop {
            let go_on = match state.mode {
                Mode::Text => self.text(state, input, events),
                Mode::Section => self.section(state, input, events),
                Mode::Type | Mode::Header => self.header(state, input, events),
                Mode::Arguments => Self::arguments(state, input, events),
                Mode::Closing | Mode::Broken | Mode::Nameless => self.closing(state, input, events),
            };
            if !go_on {
                return;
            }
        }
    }

    fn text(&self, state: &mut State, input: &mut Input, events: &mut Events) -> bool {
        let (text, until) = input.until(&self.text.markers);
        events.content(text);
        match until {
            Until::Marker(index) => {
                self.text.markers.text(index).clone_into(&mut state.raw);
                match self.text.sign(index) {
                    Some(Sign::Open) => self.open(state),
                    _ => state.mode = Mode::Section,
                }
                true
            }
            Until::Special { .. } => true,
            Until::End => false,
        }
    }

    fn section(&self, state: &mut State, input: &mut Input, events: &mut Events) -> bool {
        let (text, until) = input.until(&self.section.markers);
        if state.raw.is_empty() {
            // Text between calls is no part of one.
            events.content(text);
        } else {
            state.raw.push_str(text);
            if !text.trim().is_empty() || state.raw.len() > MAX_HEADER {
                events.content(&std::mem::take(&mut state.raw));
            }
        }
        match until {
            Until::Marker(index) if self.section.sign(index) == Some(Sign::Open) => {
                state.raw.push_str(self.spec.open);
                self.open(state);
                true
            }
            Until::Marker(_) => {
                state.raw.clear();
                state.mode = Mode::Text;
                true
            }
            Until::Special { .. } => true,
            Until::End => false,
        }
    }

    fn open(&self, state: &mut State) {
        state.header.clear();
        state.mode = if matches!(self.spec.header, Header::Typed(_)) { Mode::Type } else { Mode::Header };
    }

    fn header(&self, state: &mut State, input: &mut Input, events: &mut Events) -> bool {
        if state.header.len() + input.until_length(&self.header.markers) > MAX_HEADER {
            Self::give_up(state, events);
            return true;
        }
        let (text, until) = input.until(&self.header.markers);
        state.raw.push_str(text);
        state.header.push_str(text);
        let index = match until {
            Until::Marker(index) => index,
            Until::Special { .. } => return true,
            Until::End => return false,
        };
        let marker = self.header.markers.text(index);
        match (state.mode, self.header.sign(index)) {
            (Mode::Type, Some(Sign::Type)) => {
                state.raw.push_str(marker);
                state.header.clear();
                state.mode = Mode::Header;
            }
            (Mode::Header, Some(Sign::Arguments)) => {
                state.raw.push_str(marker);
                self.begin(state, events);
            }
            (_, Some(Sign::Open)) => {
                Self::give_up(state, events);
                marker.clone_into(&mut state.raw);
                self.open(state);
            }
            _ => {
                state.raw.push_str(marker);
                Self::give_up(state, events);
            }
        }
        true
    }

    /// There is no call: the text is content.
    fn give_up(state: &mut State, events: &mut Events) {
        events.content(&std::mem::take(&mut state.raw));
        state.header.clear();
        state.mode = Mode::Text;
    }

    /// The header is complete.
    fn begin(&self, state: &mut State, events: &mut Events) {
        let header = std::mem::take(&mut state.header);
        let header = header.trim();
        let (name, id) = match self.spec.header {
            Header::Name | Header::Typed(_) => (header, None),
            Header::Id => identified(header),
        };
        state.scanner = Scanner::default();
        state.told = false;
        if !name.is_empty() {
            state.raw.clear();
            events.call_start(name, id);
            state.mode = Mode::Arguments;
        } else if self.spec.header == Header::Id {
            state.raw.clear();
            state.mode = Mode::Nameless;
        } else {
            Self::give_up(state, events);
        }
    }

    fn arguments(state: &mut State, input: &mut Input, events: &mut Events) -> bool {
        let mut out = String::new();
        let (read, progress) = state.scanner.scan(input.rest(), &mut out);
        input.advance(read);
        let told = if state.told { out.as_str() } else { out.trim_start() };
        state.told |= !told.is_empty();
        events.arguments(told);
        match progress {
            Progress::Done => state.mode = Mode::Closing,
            Progress::Malformed => state.mode = Mode::Broken,
            Progress::More if state.scanner.in_string() => match input.take_special() {
                Some((_, text)) => {
                    let mut out = String::new();
                    state.scanner.scan(&text, &mut out);
                    events.arguments(&out);
                }
                None => return false,
            },
            Progress::More if input.is_final() && input.rest().is_empty() && !input.is_last() => {
                state.mode = if state.scanner.is_complete() { Mode::Closing } else { Mode::Broken };
            }
            Progress::More => return false,
        }
        true
    }

    /// Reads on to the closing marker.
    fn closing(&self, state: &mut State, input: &mut Input, events: &mut Events) -> bool {
        let (text, until) = input.until(&self.close.markers);
        let fence = |character: char| character.is_whitespace() || self.spec.fence.contains(character);
        match state.mode {
            Mode::Closing if !text.chars().all(fence) => {
                events.arguments(text.trim_start_matches(fence));
                state.mode = Mode::Broken;
            }
            Mode::Broken => {
                let text = if state.told { text } else { text.trim_start() };
                state.told |= !text.is_empty();
                events.arguments(text);
            }
            _ => {}
        }
        let index = match until {
            Until::Marker(index) => index,
            Until::Special { .. } => return true,
            Until::End => return false,
        };
        let empty = state.mode == Mode::Broken && !state.told && self.close.sign(index) == Some(Sign::Close);
        if empty || state.mode == Mode::Closing {
            events.call_end();
        }
        match self.close.sign(index) {
            Some(Sign::Open) => {
                self.spec.open.clone_into(&mut state.raw);
                self.open(state);
            }
            Some(Sign::SectionEnd) => state.mode = Mode::Text,
            _ => state.mode = Mode::Section,
        }
        true
    }
}

/// The name and the id in a header, which is the id: `functions.NAME:NUMBER`, or a part of that.
fn identified(header: &str) -> (&str, Option<&str>) {
    let path = header.strip_prefix("functions.").unwrap_or(header);
    let name = match path.rsplit_once(':') {
        Some((name, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => path,
    };
    (name.trim(), Some(header))
}

impl ToolParser for Sectioned {
    type State = State;

    fn start(&self) -> State {
        State::default()
    }

    fn feed(&self, state: &mut State, segment: Segment<'_>, _context: &Context, events: &mut Events) {
        let mut input = Input::new(&mut state.held, segment);
        self.run(state, &mut input, events);
        input.hold(&mut state.held);
    }

    fn finish(&self, state: &mut State, _context: &Context, events: &mut Events) {
        let mut input = Input::last(&mut state.held);
        self.run(state, &mut input, events);
        match state.mode {
            // A call whose name is cut: its markers are no text, and neither is half a name.
            Mode::Type | Mode::Header => state.raw.clear(),
            Mode::Closing => events.call_end(),
            Mode::Arguments if state.scanner.is_complete() => events.call_end(),
            _ => {}
        }
    }

    fn openers(&self) -> Vec<&'static str> {
        [self.spec.section, &[self.spec.open]].concat()
    }

    fn is_opener(&self, id: u32) -> bool {
        self.text.markers.of_id(id).is_some()
    }

    fn is_marker(&self, id: u32) -> bool {
        [&self.text, &self.header].iter().any(|signs| signs.markers.of_id(id).is_some())
    }

    fn is_native_only(&self) -> bool {
        true
    }
}
