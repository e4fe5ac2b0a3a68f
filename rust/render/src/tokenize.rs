//! `/tokenize` and `/detokenize`.

use dragoman_protocol::{ChatRequest, Error, Fields, Result, bounds, json};
use serde::Serialize;

use crate::{Renderer, error};

#[derive(Serialize)]
struct Tokenized {
    count: usize,
    max_model_len: usize,
    tokens: Vec<u32>,
    token_strs: Option<Vec<String>>,
}

#[derive(Serialize)]
struct Detokenized {
    prompt: String,
}

impl Renderer {
    /// Answers `/tokenize`: a prompt, or a chat.
    ///
    /// # Errors
    /// Everything that a client can do wrong.
    pub fn tokenize(&self, body: &[u8]) -> Result<Vec<u8>> {
        let value = json::parse(body, &self.config.bounds)?;
        let fields = Fields::of_body(&value)?;
        let strings = fields.boolean("return_token_strs")?.unwrap_or(false);
        bounds::model(fields.string("model")?, &self.config.served_model_names)?;
        let tokens = if fields.raw("prompt").is_some() {
            let prompt = dragoman_protocol::fields::string(fields.required("prompt")?, "prompt")?;
            self.tokens(prompt, fields.flag("add_special_tokens", true)?)?
        } else if fields.raw("messages").is_some() {
            let request = ChatRequest::parse(&fields, &self.config)?;
            let (rendered, ..) = self.apply_template(&request)?;
            self.tokens(&rendered.text, request.generation.add_special_tokens)?
        } else {
            return Err(Error::validation("prompt", "Field required: prompt, or messages"));
        };
        let token_strs =
            strings.then(|| tokens.iter().map(|id| self.tokenizer.token(*id).unwrap_or_default()).collect());
        let max_model_len = self.config.max_model_len;
        json::to_bytes(&Tokenized { count: tokens.len(), max_model_len, tokens, token_strs })
    }

    /// Answers `/detokenize`.
    ///
    /// # Errors
    /// Everything that a client can do wrong.
    pub fn detokenize(&self, body: &[u8]) -> Result<Vec<u8>> {
        let value = json::parse(body, &self.config.bounds)?;
        let fields = Fields::of_body(&value)?;
        let tokens = dragoman_protocol::fields::token_ids(fields.required("tokens")?, "tokens")?;
        bounds::model(fields.string("model")?, &self.config.served_model_names)?;
        let prompt = self.tokenizer.decode(&tokens, false).map_err(|fault| error::tokenizer(&fault))?;
        json::to_bytes(&Detokenized { prompt })
    }

    fn tokens(&self, text: &str, add_special_tokens: bool) -> Result<Vec<u32>> {
        let encoding = self.tokenizer.encode(text, add_special_tokens, false);
        Ok(encoding.map_err(|fault| error::tokenizer(&fault))?.ids)
    }
}
