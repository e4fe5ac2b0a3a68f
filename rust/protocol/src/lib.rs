//! The wire: request and response types, validation, bounds and errors.
//!
//! Field names, types and defaults are those of vLLM's scale-out APIs. Values arrive as a [`json::Json`] tree and
//! are read field by field with [`fields::Fields`], which coerces and refuses as pydantic does.

pub mod bounds;
pub mod config;
pub mod derender;
pub mod error;
pub mod fields;
pub mod generate_response;
pub mod json;

pub use bounds::Bounds;
pub use config::ServingConfig;
pub use error::{Error, Result};
pub use fields::Fields;
pub use json::Json;
