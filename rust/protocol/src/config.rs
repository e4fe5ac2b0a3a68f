//! The settings of a served model, as `dragoman.config.ServingConfig` hands them over.

use serde::Deserialize;

use crate::{Bounds, DefaultSampling, Error, Result};

/// How message content reaches the template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContentFormat {
    /// What the template's own loops tell.
    Auto,
    /// Text parts joined to one string.
    String,
    /// A list of parts.
    OpenAi,
}

/// A model as it is served.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServingConfig {
    pub served_model_names: Vec<String>,
    pub max_model_len: usize,
    pub vocab_size: usize,
    pub max_logprobs: i64,
    /// Sampling fields that `generation_config.json` sets, after overrides.
    pub default_sampling: DefaultSampling,
    pub eos_token_ids: Vec<u32>,
    pub chat_template_content_format: ContentFormat,
    pub default_chat_template_kwargs: serde_json::Map<String, serde_json::Value>,
    pub trust_request_chat_template: bool,
    /// What the template gets in place of a `reasoning_effort` that it does not know.
    #[serde(default)]
    pub reasoning_effort_map: std::collections::BTreeMap<String, String>,
    /// A parser's name; `none` is read as the absence of one.
    #[serde(default, deserialize_with = "parser_name")]
    pub tool_call_parser: Option<String>,
    #[serde(default, deserialize_with = "parser_name")]
    pub reasoning_parser: Option<String>,
    pub enable_auto_tool_choice: bool,
    /// A generate server without text: what needs a tokenizer is refused.
    pub tokens_only: bool,
    /// The key of the authentication code of stream states: 16 bytes, secret, the same for all servers of a fleet.
    pub stream_state_key: [u8; 16],
    pub bounds: Bounds,
}

impl ServingConfig {
    /// Reads the JSON that `dragoman.config.ServingConfig.to_json` writes.
    ///
    /// # Errors
    /// [`Error::Internal`] with the fault: the two sides of the binding disagree.
    pub fn from_json(text: &[u8]) -> Result<Self> {
        serde_json::from_slice(text)
            .map_err(|error| Error::Internal { message: format!("serving configuration: {error}") })
    }

    /// The name that answers carry where the request names no model.
    #[must_use]
    pub fn model_name(&self) -> &str {
        self.served_model_names.first().map_or("", String::as_str)
    }
}

fn parser_name<'de, D: serde::Deserializer<'de>>(from: D) -> std::result::Result<Option<String>, D::Error> {
    Ok(Option::<String>::deserialize(from)?.filter(|name| !name.is_empty() && name != "none"))
}
