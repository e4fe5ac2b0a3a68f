//! Requests to generate requests: messages, template, tokens, sampling, mask.
//!
//! [`Renderer`] takes the bytes of an HTTP body and gives the bytes of the answer.

mod anthropic;
mod chat;
mod completion;
mod content;
mod convert;
mod error;
mod mask;
mod messages;
mod origins;
mod parsers;
mod prompt;
mod renderer;
mod responses;
mod template;
mod tokenize;
mod tool_grammar;
mod tools;
mod variables;

pub use mask::assistant_mask;
pub use parsers::Reasoning;
pub use renderer::{Parts, Renderer};
pub use template::{Compile, Fallback, RequestTemplates, Template};
