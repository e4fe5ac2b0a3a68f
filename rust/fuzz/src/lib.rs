//! What the fuzz targets share: a small tokenizer, the settings of a served model, arbitrary outputs, requests and
//! JSON, and a client that derenders in chunks.
//!
//! A target makes well-formed input of the bytes that it gets, so that most runs come past the first check, and
//! leaves a part of them as they are.

pub mod calls;
pub mod case;
pub mod client;
pub mod output;
pub mod request;
pub mod serving;
pub mod tokenizer;
