//! One choice: ids in, deltas out. One-shot is one chunk and its end.
//!
//! ```text
//! ids ─▶ stop tokens ─▶ detok ─▶ reasoning ─▶ stop strings ─▶ tool calls ─▶ message
//! ```

use dragoman_protocol::ToolChoice;
use dragoman_protocol::generate_response::StopReason;
use serde::{Deserialize, Serialize};

use crate::detok::{self, Detokenizer};
use crate::logprobs;
use crate::message::{self, Assembler, Delta};
use crate::options::Options;
use crate::parse::{AnyState, Events};
use crate::run::Run;
use crate::stop;

/// What reads the ids of choices, all of one request.
pub struct Pipeline<'p> {
    pub detokenizer: &'p Detokenizer,
    pub options: &'p Options,
    /// Makes the ids of tool calls: the same request, choice and call give the same id.
    pub seed: u64,
}

/// Where a choice stands between two chunks.
pub struct Choice {
    pub plain: Plain,
    pub reasoning: Option<AnyState>,
    pub tool: Option<AnyState>,
}

/// The part of a choice's state that is the same for all parsers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plain {
    pub detok: detok::State,
    pub stop: stop::State,
    pub message: message::State,
    /// A stop token that is text if another token follows it.
    pub held_id: Option<u32>,
    /// Ids read.
    pub tokens: u32,
    /// The stop string that was met, by its place in the request.
    pub stopped: Option<u32>,
    pub role_sent: bool,
    /// Characters of text that are out: `text_offset` counts them.
    pub characters: u32,
    pub finished: bool,
    /// Whether the answer stands in the arguments of a call.
    in_call: bool,
    pub seed: u64,
    /// The last ids, which decide the text of tokens that end inside a character.
    pub context: Vec<u32>,
    pub prompt_tokens: u32,
}

impl Plain {
    fn is_valid(&self) -> bool {
        self.detok.is_valid() && self.message.is_valid() && self.context.len() <= logprobs::CONTEXT
    }
}

/// The end of a choice, as the engine gave it.
#[derive(Debug, Clone, Copy)]
pub struct Finish<'f> {
    pub reason: &'f str,
    pub stop_reason: Option<&'f StopReason>,
}

/// What became of a chunk.
#[derive(Debug, Default)]
pub struct Step {
    pub delta: Delta,
    /// For each id of the chunk, whether the client may see it: not after a stop string, not in hidden reasoning.
    pub shown: Vec<bool>,
    /// The finish reason, once.
    pub finish_reason: Option<String>,
    pub stop_reason: Option<StopReason>,
}

impl Pipeline<'_> {
    /// A choice after the prompt, before its first token.
    #[must_use]
    pub fn start(&self, prompt: &[u32], build: crate::parse::Build<'_>) -> Choice {
        let options = self.options;
        Choice {
            plain: Plain { detok: self.detokenizer.start(prompt), seed: self.seed, ..Plain::default() },
            reasoning: options.reasoning.as_ref().map(|parser| parser.start(prompt, &options.context, build)),
            tool: options.tool.as_ref().map(|parser| parser.start()),
        }
    }

    /// Reads the next ids, and the end where it comes with them.
    pub fn push(&self, choice: &mut Choice, ids: &[u32], finish: Option<Finish<'_>>) -> Step {
        let mut step = Step { shown: Vec::with_capacity(ids.len()), ..Step::default() };
        let events = Events::new(choice.plain.in_call);
        let mut run = Run::new(self, events);
        // A stop token that the request does not name is known by the stop reason that comes with it.
        let named = match finish {
            Some(Finish { reason: "stop", stop_reason: Some(StopReason::Token(id)) }) => {
                u32::try_from(*id).ok()
            }
            _ => None,
        };
        let mut at = 0;
        // Where the next stop token that is no special token stands: looked for once for each.
        let mut stop_at = 0;
        while let Some(&id) = ids.get(at) {
            if choice.plain.stopped.is_some() {
                break;
            }
            if let Some(held) = choice.plain.held_id.take() {
                run.token(choice, held);
            }
            if !self.options.settles_each_token() {
                if stop_at <= at {
                    stop_at = at + self.before_stop(&ids[at..], named);
                }
                let read =
                    self.detokenizer.push_ordinary(&mut choice.plain.detok, &ids[at..stop_at], &mut run.text);
                if read > 0 {
                    step.shown.resize(step.shown.len() + read, true);
                    let tokens = u32::try_from(read).unwrap_or(u32::MAX);
                    choice.plain.tokens = choice.plain.tokens.saturating_add(tokens);
                    at += read;
                    continue;
                }
            }
            at += 1;
            step.shown.push(self.is_shown(choice));
            choice.plain.tokens = choice.plain.tokens.saturating_add(1);
            let last_named = named == Some(id) && at == ids.len();
            if !self.options.include_stop && (last_named || self.options.stop_ids.contains(&id)) {
                run.flush_text(choice);
                choice.plain.held_id = Some(id);
            } else {
                run.token(choice, id);
            }
            run.note_stop(choice);
        }
        step.shown.resize(ids.len(), false);
        run.flush_text(choice);
        run.note_stop(choice);
        if let Some(finish) = finish.filter(|_| !choice.plain.finished && choice.plain.stopped.is_none()) {
            run.finish(choice, finish);
            run.note_stop(choice);
        }
        choice.plain.in_call = run.events.in_call();
        let calls = |index: u32| call_id(choice.plain.seed, index);
        let assembler = Assembler {
            parallel: self.options.parallel,
            trims: self.options.tool.is_some(),
            call_id: &calls,
        };
        let mut message = std::mem::take(&mut choice.plain.message);
        assembler.take(&mut message, &mut run.events, &mut step.delta);
        let ends = finish.is_some() || choice.plain.stopped.is_some();
        if ends && !choice.plain.finished {
            Assembler::finish(&mut message, &mut step.delta);
        }
        choice.plain.message = message;
        if ends && !choice.plain.finished {
            choice.plain.finished = true;
            self.end(choice, finish, &mut step);
        }
        step
    }

    /// How many ids stand before the first stop token. Special tokens, as most stop tokens are, end a run of text anyway.
    fn before_stop(&self, ids: &[u32], named: Option<u32>) -> usize {
        let vocabulary = self.detokenizer.vocabulary();
        let ends = |id: u32| named == Some(id) || self.options.stop_ids.contains(&id);
        ids.iter().position(|&id| ends(id) && !vocabulary.is_special(id)).unwrap_or(ids.len())
    }

    /// Settles the finish reason.
    fn end(&self, choice: &Choice, finish: Option<Finish<'_>>, step: &mut Step) {
        let stopped = choice.plain.stopped.and_then(|index| self.options.stops.string(index));
        let reason = if stopped.is_some() { "stop" } else { finish.map_or("stop", |finish| finish.reason) };
        let called =
            choice.plain.message.complete > 0 && !matches!(self.options.choice, ToolChoice::Named(_));
        step.finish_reason =
            Some(if reason == "stop" && called { "tool_calls".to_owned() } else { reason.to_owned() });
        step.stop_reason = match stopped {
            Some(string) => Some(StopReason::Text(string.to_owned())),
            None => finish.and_then(|finish| finish.stop_reason.cloned()),
        };
    }

    fn is_shown(&self, choice: &mut Choice) -> bool {
        if self.options.include_reasoning {
            return true;
        }
        match (&self.options.reasoning, &mut choice.reasoning) {
            (Some(parser), Some(state)) => !parser.is_reasoning(state),
            _ => true,
        }
    }
}

impl Choice {
    /// The state as bytes.
    #[must_use]
    pub fn save(&self, options: &Options) -> Vec<u8> {
        let reasoning = match (&options.reasoning, &self.reasoning) {
            (Some(parser), Some(state)) => parser.save(state),
            _ => Vec::new(),
        };
        let tool = match (&options.tool, &self.tool) {
            (Some(parser), Some(state)) => parser.save(state),
            _ => Vec::new(),
        };
        postcard::to_allocvec(&(&self.plain, reasoning, tool)).unwrap_or_default()
    }

    /// The state that [`Choice::save`] wrote for the same options.
    #[must_use]
    pub fn load(options: &Options, bytes: &[u8]) -> Option<Self> {
        let ((plain, reasoning, tool), rest) =
            postcard::take_from_bytes::<(Plain, Vec<u8>, Vec<u8>)>(bytes).ok()?;
        if !plain.is_valid() || !options.stops.is_valid(&plain.stop) {
            return None;
        }
        let reasoning = match &options.reasoning {
            Some(parser) => Some(parser.load(&reasoning)?),
            None => None,
        };
        let tool = match &options.tool {
            Some(parser) => Some(parser.load(&tool)?),
            None => None,
        };
        rest.is_empty().then_some(Self { plain, reasoning, tool })
    }
}

/// The id of a choice's tool call.
fn call_id(seed: u64, index: u32) -> String {
    use std::hash::Hasher;
    let mut hasher = siphasher::sip::SipHasher24::new_with_keys(seed, 0x746f_6f6c);
    hasher.write_u32(index);
    format!("chatcmpl-tool-{:016x}", hasher.finish())
}
