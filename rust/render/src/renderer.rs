//! The renderer of one served model.

use std::sync::Arc;
use std::time::Duration;

use dragoman_protocol::{Error, Result, ServingConfig};
use dragoman_template::{Budget, ContentFormat};
use dragoman_tokenizer::Tokenizer;

use crate::{Reasoning, RequestTemplates, Template};

/// Renders requests of every API to generate requests.
pub struct Renderer {
    pub(crate) tokenizer: Arc<Tokenizer>,
    pub(crate) config: Arc<ServingConfig>,
    pub(crate) parts: Parts,
    pub(crate) budget: Budget,
}

/// What a model may have beside its tokenizer.
#[derive(Default)]
pub struct Parts {
    /// Without it only completions are served.
    pub template: Option<Template>,
    /// Without it templates of requests are refused.
    pub request_templates: Option<RequestTemplates>,
    pub reasoning: Option<Arc<dyn Reasoning>>,
}

impl Renderer {
    /// A renderer.
    #[must_use]
    pub fn new(tokenizer: Arc<Tokenizer>, config: Arc<ServingConfig>, parts: Parts) -> Self {
        let limits = &config.bounds;
        let budget = Budget {
            fuel: limits.template_steps,
            output_bytes: limits.template_bytes,
            time: Duration::from_millis(limits.template_milliseconds),
        };
        Self { tokenizer, config, parts, budget }
    }

    /// The template for a request that may bring its own.
    ///
    /// # Errors
    /// A bad-request error where there is none, or where one is brought and not trusted.
    pub(crate) fn template(&self, brought: Option<&str>) -> Result<Template> {
        let Some(source) = brought else {
            return self.parts.template.clone().ok_or_else(|| {
                let message = "this model has no chat template: start the server with --chat-template, or send \
                               the prompt to the completions endpoint";
                Error::bad_request(message)
            });
        };
        match &self.parts.request_templates {
            Some(templates) if self.config.trust_request_chat_template => {
                templates.get(source).map_err(|fault| crate::error::template(&fault))
            }
            _ => Err(Error::bad_request(
                "the request brings a chat template, and this server does not trust those: start it with \
                 --trust-request-chat-template",
            )),
        }
    }

    /// How message content is handed to `template`.
    pub(crate) fn content_format(&self, template: &Template) -> ContentFormat {
        use dragoman_protocol::config::ContentFormat as Asked;
        match self.config.chat_template_content_format {
            Asked::Auto => template.content_format(),
            Asked::String => ContentFormat::String,
            Asked::OpenAi => ContentFormat::OpenAi,
        }
    }

    /// The id of a request: the header's, else the body's, else a random one, behind the API's prefix.
    pub(crate) fn request_id(prefix: &str, header: Option<&str>, body: Option<&str>) -> String {
        match header.or(body) {
            Some(id) => format!("{prefix}{id}"),
            None => format!("{prefix}{}", uuid::Uuid::new_v4().simple()),
        }
    }
}
