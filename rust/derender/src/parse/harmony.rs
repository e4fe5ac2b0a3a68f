//! OpenAI's harmony format: messages with a header that names role, channel and recipient.
//!
//! ```text
//! <|channel|>analysis<|message|>reasoning<|end|>
//! <|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{…}<|call|>
//! <|start|>assistant to=functions.f<|channel|>commentary<|constrain|>json<|message|>{…}<|call|>
//! <|start|>assistant<|channel|>final<|message|>answer<|return|>
//! ```
//!
//! Source: the format's public description, and the data for what is malformed. The prompt ends with
//! `<|start|>assistant`, so the first header has no start of its own. A header that comes to no message is content.

use serde::{Deserialize, Serialize};

use super::json::{Progress, Scanner};
use super::{Build, Input, Markers, Until};

/// The text of a header that is held; more of it is content.
const MAX_HEADER: usize = 256;

const START: usize = 0;
pub const CHANNEL: usize = 1;
const CONSTRAIN: usize = 2;
pub const MESSAGE: usize = 3;
pub const CALL: usize = 6;

/// The format's markers, looked up in a vocabulary. The last three end a message.
pub struct Harmony {
    pub markers: Markers,
}

/// What the messages are given to.
pub trait Sink {
    fn reasoning(&mut self, text: &str);
    fn content(&mut self, text: &str);
    /// A message to a function begins; `after_text` says whether content came before it.
    fn call(&mut self, header: &Header, after_text: bool);
    fn arguments(&mut self, text: &str);
    /// The message to the function ends; `marker` ended it, and `whole` says whether its arguments are JSON.
    fn call_end(&mut self, marker: usize, whole: bool);
}

/// The part of the header that text belongs to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Part {
    #[default]
    Role,
    Channel,
    Constrain,
}

/// A message's header while it is read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// All of it, markers included.
    raw: String,
    role: String,
    channel: String,
    part: Part,
}

impl Header {
    /// The function that the message goes to.
    #[must_use]
    pub fn function(&self) -> Option<&str> {
        let recipient = |text: &'_ str| text.find("to=").map(|at| at + 3);
        let recipient = recipient(&self.channel)
            .map(|at| &self.channel[at..])
            .or_else(|| recipient(&self.role).map(|at| &self.role[at..]))?;
        let recipient = recipient.split_whitespace().next()?;
        match recipient.strip_prefix("functions.") {
            Some(name) => Some(name).filter(|name| !name.is_empty()),
            None => Some(recipient).filter(|recipient| is_function(recipient)),
        }
    }

    /// The channel with its recipient, as one text.
    #[must_use]
    pub fn address(&self) -> String {
        match self.function() {
            Some(name) => format!("commentary to=functions.{name} "),
            None => self.channel.clone(),
        }
    }

    fn channel(&self) -> &str {
        self.channel.split_whitespace().next().unwrap_or_default()
    }

    /// The text of a message whose header and text are not told apart: `final Answer`.
    fn answer(&self) -> Option<&str> {
        let text = self.channel.trim_start().strip_prefix("final")?;
        let answer = text.trim();
        (text.starts_with(char::is_whitespace) && !answer.is_empty() && !answer.starts_with("to="))
            .then_some(answer)
    }
}

/// Whether a recipient without its namespace is a function: not a role, and not a tool that is built in.
fn is_function(recipient: &str) -> bool {
    const OTHERS: [&str; 8] =
        ["assistant", "user", "system", "developer", "all", "python", "browser", "container"];
    !recipient.is_empty() && !recipient.contains('.') && !OTHERS.contains(&recipient)
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Mode {
    /// Before anything: a header without its start may come.
    #[default]
    Start,
    Header,
    Reasoning,
    Content,
    Call,
    Between,
}

/// Where the reader stands.
#[expect(clippy::struct_excessive_bools, reason = "they are independent of each other")]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    mode: Mode,
    header: Header,
    scanner: Scanner,
    /// Whether a function's arguments are no JSON.
    malformed: bool,
    /// Whether text of an earlier message is out, so that a line break stands before the next.
    said: bool,
    thought: bool,
    /// Whether the message that is read has had text.
    begun: bool,
}

impl super::State for State {
    fn is_valid(&self) -> bool {
        let Header { raw, role, channel, .. } = &self.header;
        super::are_bounded(&[raw, role, channel]) && self.scanner.is_valid()
    }
}

impl State {
    /// Whether the next token would be reasoning.
    #[must_use]
    pub fn is_reasoning(&self) -> bool {
        self.mode == Mode::Reasoning
    }

    fn content(&mut self, text: &str, sink: &mut dyn Sink) {
        if text.is_empty() {
            return;
        }
        if std::mem::replace(&mut self.said, true) && !self.begun {
            sink.content("\n");
        }
        self.begun = true;
        sink.content(text);
    }

    fn reasoning(&mut self, text: &str, sink: &mut dyn Sink) {
        if text.is_empty() {
            return;
        }
        if std::mem::replace(&mut self.thought, true) && !self.begun {
            sink.reasoning("\n");
        }
        self.begun = true;
        sink.reasoning(text);
    }

    fn enter(&mut self, mode: Mode) {
        self.mode = mode;
        self.begun = false;
    }

    /// The header comes to no message.
    fn give_up(&mut self, sink: &mut dyn Sink) {
        let header = std::mem::take(&mut self.header);
        self.enter(Mode::Between);
        self.content(header.answer().unwrap_or(&header.raw), sink);
    }
}

impl Harmony {
    /// Looks the markers up.
    #[must_use]
    pub fn new(build: Build<'_>) -> Self {
        let texts =
            ["<|start|>", "<|channel|>", "<|constrain|>", "<|message|>", "<|end|>", "<|return|>", "<|call|>"];
        Self { markers: Markers::new(&texts, build) }
    }

    /// Reads all that is there.
    pub fn run(&self, state: &mut State, input: &mut Input, sink: &mut dyn Sink) {
        loop {
            if state.mode == Mode::Start && !Self::start(state, input) {
                return;
            }
            if state.mode == Mode::Call && !state.malformed && Self::arguments(state, input, sink) {
                continue;
            }
            let (text, until) = input.until(&self.markers);
            match state.mode {
                Mode::Start | Mode::Header => {
                    state.header.raw.push_str(text);
                    match state.header.part {
                        Part::Role => state.header.role.push_str(text),
                        Part::Channel => state.header.channel.push_str(text),
                        Part::Constrain => {}
                    }
                    if state.header.raw.len() > MAX_HEADER {
                        state.give_up(sink);
                    }
                }
                Mode::Reasoning => state.reasoning(text, sink),
                Mode::Content | Mode::Between => state.content(text, sink),
                Mode::Call => {
                    // Blanks behind the arguments are no part of them; other text is, and spoils them.
                    let text = if state.malformed { text } else { text.trim_start() };
                    state.malformed |= !text.is_empty();
                    sink.arguments(text);
                }
            }
            match until {
                Until::Marker(index) => self.marker(state, index, sink),
                Until::Special { .. } => {}
                Until::End => return,
            }
        }
    }

    /// No more comes. Returns whether a message to a function was cut off with its arguments whole: the token that
    /// ends it also ends the generation, and is taken off.
    pub fn finish(state: &mut State, sink: &mut dyn Sink) -> bool {
        if matches!(state.mode, Mode::Start | Mode::Header) {
            state.give_up(sink);
        }
        state.mode == Mode::Call && !state.malformed && state.scanner.is_complete()
    }

    /// Before anything, only a recipient can stand without a marker before it. False where more text must come.
    fn start(state: &mut State, input: &Input) -> bool {
        let text = input.rest().trim_start();
        if text.starts_with("to=") || (text.is_empty() && input.is_final()) {
            state.enter(Mode::Header);
        } else if input.is_final() || !"to=".starts_with(text) || input.rest().len() > MAX_HEADER {
            state.enter(Mode::Between);
        } else {
            return false;
        }
        true
    }

    /// Reads arguments as JSON. True where all that could be done is done and the state has changed.
    fn arguments(state: &mut State, input: &mut Input, sink: &mut dyn Sink) -> bool {
        let mut out = String::new();
        let (read, progress) = state.scanner.scan(input.rest(), &mut out);
        input.advance(read);
        sink.arguments(if state.begun { &out } else { out.trim_start() });
        state.begun |= !out.trim_start().is_empty();
        match progress {
            Progress::Malformed => state.malformed = true,
            Progress::More if state.scanner.in_string() => {
                // What stands in a string is the string's, even a marker.
                let Some((_, text)) = input.take_special() else { return false };
                let mut out = String::new();
                state.scanner.scan(&text, &mut out);
                sink.arguments(&out);
                return true;
            }
            Progress::Done | Progress::More => {}
        }
        false
    }

    fn marker(&self, state: &mut State, index: usize, sink: &mut dyn Sink) {
        let text = self.markers.text(index);
        let in_header = matches!(state.mode, Mode::Start | Mode::Header);
        match index {
            START | CHANNEL if !in_header || (index == START && !state.header.raw.is_empty()) => {
                if in_header && state.header.raw != text {
                    state.give_up(sink);
                }
                Self::end_call(state, index, sink);
                state.header = Header { raw: text.to_owned(), ..Header::default() };
                if index == CHANNEL {
                    state.header.part = Part::Channel;
                }
                state.enter(Mode::Header);
            }
            START | CHANNEL | CONSTRAIN if in_header => {
                state.header.raw.push_str(text);
                match index {
                    CHANNEL => {
                        state.header.part = Part::Channel;
                        state.header.channel.clear();
                    }
                    CONSTRAIN => state.header.part = Part::Constrain,
                    _ => {}
                }
                state.enter(Mode::Header);
            }
            MESSAGE if in_header => {
                let header = std::mem::take(&mut state.header);
                state.scanner = Scanner::default();
                state.malformed = false;
                if header.function().is_some() {
                    state.enter(Mode::Call);
                    sink.call(&header, state.said);
                } else if header.channel() == "analysis" {
                    state.enter(Mode::Reasoning);
                } else {
                    state.enter(Mode::Content);
                }
            }
            // Markers of a header inside a message mean nothing.
            START | CHANNEL | CONSTRAIN | MESSAGE => {}
            _ if in_header && state.header.raw.is_empty() => state.enter(Mode::Between),
            _ if in_header => state.give_up(sink),
            _ => {
                Self::end_call(state, index, sink);
                state.enter(Mode::Between);
            }
        }
    }

    fn end_call(state: &mut State, index: usize, sink: &mut dyn Sink) {
        if state.mode == Mode::Call {
            if !state.begun && !state.malformed {
                sink.arguments("{}");
                state.scanner.scan("{}", &mut String::new());
            }
            sink.call_end(index, !state.malformed && state.scanner.is_complete());
        }
    }
}
