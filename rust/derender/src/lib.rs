//! Generated ids to responses.
//!
//! ```text
//! body ─▶ derenderer ─▶ choice: ids ─▶ detok ─▶ reasoning ─▶ stop ─▶ tool ─▶ message ─▶ chat | completions ─▶ body
//! ```
//!
//! Streaming is the only implementation: a whole response is one chunk and its end. Between chunks a choice is a
//! state of a few hundred bytes ([`state`]) that the client carries.
//!
//! How to add a parser is written in [`tool`] and [`reasoning`].

mod arguments;
pub mod auto;
mod automaton;
mod chat;
mod choice;
mod completions;
pub mod derenderer;
pub mod detok;
mod echo;
mod error;
mod logprobs;
mod message;
mod options;
pub mod parse;
pub mod reasoning;
mod run;
mod state;
pub mod stop;
mod stream;
pub mod tool;
mod usage;
mod utf8;

pub use derenderer::{Answer, ChoiceStream, Derenderer};
pub use error::Error;
