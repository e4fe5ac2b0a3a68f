//! The reading of one chunk: text and special tokens through the stages of a choice.

use dragoman_protocol::generate_response::StopReason;

use crate::choice::{Choice, Finish, Pipeline, Plain};
use crate::parse::{AnyState, Events, Segment};
use crate::reasoning::Split;

/// Bytes of the longest special token that a parser looks for.
const LONGEST_MARKER: usize = 64;

/// The reading of one chunk.
pub(crate) struct Run<'r> {
    pub pipeline: &'r Pipeline<'r>,
    pub events: Events,
    /// Text of ids that no stage has read yet.
    pub text: String,
    fired: Option<u32>,
}

impl<'r> Run<'r> {
    pub fn new(pipeline: &'r Pipeline<'r>, events: Events) -> Self {
        Self { pipeline, events, text: String::new(), fired: None }
    }

    pub fn token(&mut self, choice: &mut Choice, id: u32) {
        let (detokenizer, options) = (self.pipeline.detokenizer, self.pipeline.options);
        if detokenizer.vocabulary().is_special(id) {
            if options.is_parsed() {
                detokenizer.flush(&mut choice.plain.detok, &mut self.text);
                self.flush_text(choice);
                let text = String::from_utf8_lossy(detokenizer.vocabulary().bytes(id)).into_owned();
                self.segment(choice, Segment::Special { id, text: &text });
                return;
            }
            if !options.shows(id) {
                return;
            }
        }
        detokenizer.push(&mut choice.plain.detok, id, &mut self.text);
        if options.settles_each_token() {
            self.flush_text(choice);
        }
    }

    pub fn flush_text(&mut self, choice: &mut Choice) {
        if self.text.is_empty() {
            return;
        }
        let text = std::mem::take(&mut self.text);
        self.segment(choice, Segment::Text(&text));
        self.text = text;
        self.text.clear();
    }

    fn segment(&mut self, choice: &mut Choice, segment: Segment<'_>) {
        let Choice { plain, reasoning, tool } = choice;
        let mut answer = Answer { run: self, plain, tool };
        match (&answer.run.pipeline.options.reasoning, reasoning) {
            (Some(parser), Some(state)) => parser.feed(state, segment, &mut answer),
            _ => answer.answer(segment),
        }
    }

    /// Takes what a marker or the end brought. Markers of the tool parser that stand alone, doubled before a call or left
    /// over behind one, are special tokens like any other, and no text. Where the output `ends` with the first, it is.
    fn append_without_markers(&mut self, events: Events, called_before: bool, ends: bool) {
        let Some(parser) = &self.pipeline.options.tool else { return };
        let detokenizer = self.pipeline.detokenizer;
        let marker = |text: &str| {
            (1..=text.len().min(LONGEST_MARKER)).find_map(|end| {
                let id = detokenizer.special_id(text.get(..end)?)?;
                (parser.is_marker(id) && !parser.is_text(id)).then_some((id, end))
            })
        };
        self.events.append(events, |text, called| {
            let mut rest = text.trim_start();
            let behind = called || called_before;
            let leads = marker(rest).is_some_and(|(id, _)| behind || (parser.is_opener(id) && !ends));
            while let Some((_, end)) = marker(rest).filter(|_| leads) {
                rest = rest[end..].trim_start();
            }
            leads && rest.is_empty()
        });
    }

    pub fn note_stop(&mut self, choice: &mut Choice) {
        if let Some(index) = self.fired.take() {
            choice.plain.stopped = Some(index);
            choice.plain.held_id = None;
            self.text.clear();
        }
    }

    pub fn finish(&mut self, choice: &mut Choice, finish: Finish<'_>) {
        if let Some(held) = choice.plain.held_id.take() {
            // It stopped the generation unless that ended for another reason.
            let stopped = finish.reason == "stop" && !matches!(finish.stop_reason, Some(StopReason::Text(_)));
            if !stopped {
                self.token(choice, held);
            }
        }
        self.pipeline.detokenizer.finish(&mut choice.plain.detok, &mut self.text);
        self.flush_text(choice);
        let Choice { plain, reasoning, tool } = choice;
        let mut answer = Answer { run: self, plain, tool };
        if let (Some(parser), Some(state)) = (&answer.run.pipeline.options.reasoning, reasoning) {
            parser.finish(state, &mut answer);
        }
        answer.finish();
    }
}

/// The answer's part of the pipeline, behind the reasoning parser.
struct Answer<'a, 'r> {
    run: &'a mut Run<'r>,
    plain: &'a mut Plain,
    tool: &'a mut Option<AnyState>,
}

impl Split for Answer<'_, '_> {
    fn reasoning(&mut self, text: &str) {
        if self.run.pipeline.options.include_reasoning && self.run.fired.is_none() {
            self.run.events.reasoning(text);
        }
    }

    fn answer(&mut self, segment: Segment<'_>) {
        if self.run.fired.is_some() || self.plain.stopped.is_some() {
            return;
        }
        let options = self.run.pipeline.options;
        let Segment::Text(text) = segment else {
            self.release_held();
            self.tool_segment(segment);
            return;
        };
        if options.stops.is_empty() {
            return self.tool_segment(segment);
        }
        let exempt = self.plain.tokens <= options.min_tokens && options.min_tokens > 0;
        let mut out = String::new();
        let met = options.stops.push(&mut self.plain.stop, text, exempt, &mut out);
        self.tool_segment(Segment::Text(&out));
        if met.is_some() {
            self.run.fired = met;
            self.finish_tool();
        }
    }

    fn in_call(&self) -> bool {
        self.run.events.in_call()
    }
}

impl Answer<'_, '_> {
    fn release_held(&mut self) {
        let mut out = String::new();
        self.run.pipeline.options.stops.flush(&mut self.plain.stop, &mut out);
        self.tool_segment(Segment::Text(&out));
    }

    fn tool_segment(&mut self, segment: Segment<'_>) {
        if segment == Segment::Text("") {
            return;
        }
        let options = self.run.pipeline.options;
        if let (Some(parser), Some(state)) = (&options.tool, &mut *self.tool) {
            match segment {
                Segment::Special { id, .. } if parser.is_marker(id) => {
                    let mut events = Events::new(self.run.events.in_call());
                    parser.feed(state, segment, &options.context, &mut events);
                    self.run.append_without_markers(events, self.plain.message.calls > 0, false);
                }
                _ => parser.feed(state, segment, &options.context, &mut self.run.events),
            }
            return;
        }
        match segment {
            Segment::Text(text) => self.run.events.content(text),
            Segment::Special { id, text } if options.shows(id) => self.run.events.content(text),
            Segment::Special { .. } => {}
        }
    }

    fn finish(&mut self) {
        if self.run.fired.is_none() {
            self.release_held();
            self.finish_tool();
        }
    }

    fn finish_tool(&mut self) {
        let options = self.run.pipeline.options;
        if let (Some(parser), Some(state)) = (&options.tool, &mut *self.tool) {
            let mut events = Events::new(self.run.events.in_call());
            parser.finish(state, &options.context, &mut events);
            self.run.append_without_markers(events, self.plain.message.calls > 0, true);
        }
    }
}
