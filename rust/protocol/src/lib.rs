//! The wire: request and response types, validation, bounds and errors.
//!
//! Field names, types and defaults are those of vLLM's scale-out APIs. Values arrive as a [`json::Json`] tree and
//! are read field by field with [`fields::Fields`], which coerces and refuses as pydantic does.

pub mod body;
pub mod bounds;
pub mod chat;
pub mod completion;
pub mod config;
pub mod derender;
pub mod error;
pub mod fields;
pub mod generate;
pub mod generate_response;
pub mod generation;
pub mod json;
pub mod message;
pub mod sampling;
pub mod schema;
pub mod structured_outputs;
pub mod text;

pub use body::Body;
pub use bounds::Bounds;
pub use chat::{ChatRequest, ToolChoice};
pub use completion::{CompletionRequest, Prompt};
pub use config::ServingConfig;
pub use error::{Error, Result};
pub use fields::Fields;
pub use generate::{GenerateRequest, OutputMode, StreamOptions};
pub use generation::{Generation, TruncationSide};
pub use json::Json;
pub use sampling::{DefaultSampling, SamplingParams};
pub use structured_outputs::StructuredOutputs;
