//! Token ids to responses.

use std::sync::Arc;

use dragoman_protocol::{Error, Result, ServingConfig};
use dragoman_tokenizer::Tokenizer;

pub struct Answer {
    pub body: Vec<u8>,
    pub parsed: bool,
}
pub enum StopReason {
    TokenId(i64),
    Text(String),
}
pub struct Derenderer;
pub struct ChoiceStream;
fn missing<T>() -> Result<T> {
    Err(Error::Internal { message: "not there yet".into() })
}
impl Derenderer {
    pub fn new(_: Arc<Tokenizer>, _: Arc<ServingConfig>) -> Result<Self> {
        Ok(Self)
    }
    pub fn chat(&self, _: &[u8]) -> Result<Answer> {
        missing()
    }
    pub fn completions(&self, _: &[u8]) -> Result<Answer> {
        missing()
    }
    pub fn stream(&self, _: &[u32], _: Option<&[u8]>) -> Result<ChoiceStream> {
        missing()
    }
}
impl ChoiceStream {
    pub fn push(&mut self, _: &[u32]) -> Result<Vec<u8>> {
        missing()
    }
    pub fn finish(&mut self, _: Option<&str>, _: Option<StopReason>) -> Result<Vec<u8>> {
        missing()
    }
}
