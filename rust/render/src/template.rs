//! The chat template of a model, in the engine that renders it right.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use dragoman_protocol::Json;
use dragoman_template::{Budget, ChatTemplate, ContentFormat, Rendered, TemplateError, TemplateInput};

/// An engine outside this crate (CPython's jinja2), for a template that the built-in one gets wrong.
pub trait Fallback: Send + Sync {
    /// Renders the template.
    ///
    /// # Errors
    /// What the engine raises.
    fn render(&self, input: &TemplateInput<'_>) -> Result<Rendered, TemplateError>;
}

/// A chat template.
#[derive(Clone)]
pub struct Template {
    /// None where the built-in engine cannot read the source: then there is a fallback.
    built_in: Option<Arc<ChatTemplate>>,
    fallback: Option<Arc<dyn Fallback>>,
    source: Arc<str>,
}

impl Template {
    /// The template of `source`, which the built-in engine renders, or `fallback` where it is given.
    ///
    /// # Errors
    /// A syntax error, where there is no fallback.
    pub fn new(
        source: &str,
        special_tokens: &[(String, Json<'static>)],
        fallback: Option<Arc<dyn Fallback>>,
    ) -> Result<Self, TemplateError> {
        let built_in = match ChatTemplate::new(source, special_tokens) {
            Ok(template) => Some(Arc::new(template)),
            Err(_) if fallback.is_some() => None,
            Err(error) => return Err(error),
        };
        Ok(Self { built_in, fallback, source: source.into() })
    }

    /// Whether the template has something to say on developer messages.
    #[must_use]
    pub fn knows_developer(&self) -> bool {
        self.source.contains("developer")
    }

    /// Whether the template marks what an assistant wrote.
    #[must_use]
    pub fn has_generation_blocks(&self) -> bool {
        match &self.built_in {
            Some(template) => template.has_generation_blocks(),
            None => self.source.contains("endgeneration"),
        }
    }

    /// How the template reads message content.
    #[must_use]
    pub fn content_format(&self) -> ContentFormat {
        self.built_in.as_ref().map_or(ContentFormat::String, |template| template.content_format())
    }

    /// Renders a conversation.
    ///
    /// # Errors
    /// What the template raises, and the budget.
    pub fn render(&self, input: &TemplateInput<'_>, budget: &Budget) -> Result<Rendered, TemplateError> {
        match (&self.fallback, &self.built_in) {
            (Some(fallback), _) => fallback.render(input),
            (None, Some(template)) => template.render(input, budget),
            (None, None) => Err(TemplateError::Raised("no engine can read the template".to_owned())),
        }
    }
}

/// Compiles a template that came with a request.
pub trait Compile: Send + Sync {
    /// Compiles `source`, with the model's special tokens.
    ///
    /// # Errors
    /// A syntax error.
    fn compile(&self, source: &str) -> Result<Template, TemplateError>;
}

/// Request templates, compiled once.
pub struct RequestTemplates {
    compiler: Arc<dyn Compile>,
    compiled: Mutex<HashMap<String, Template>>,
}

/// Compiled request templates that are kept: all are dropped when one more comes.
const KEPT: usize = 64;

impl RequestTemplates {
    /// None compiled yet.
    #[must_use]
    pub fn new(compiler: Arc<dyn Compile>) -> Self {
        Self { compiler, compiled: Mutex::default() }
    }

    /// The template of `source`.
    ///
    /// # Errors
    /// A syntax error.
    pub fn get(&self, source: &str) -> Result<Template, TemplateError> {
        if let Some(template) = self.lock().get(source) {
            return Ok(template.clone());
        }
        // Compiled outside the lock: a slow template holds up nobody else.
        let template = self.compiler.compile(source)?;
        let mut compiled = self.lock();
        if compiled.len() >= KEPT {
            compiled.clear();
        }
        compiled.insert(source.to_owned(), template.clone());
        Ok(template)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Template>> {
        // The map is whole whatever happened to a thread that held it.
        self.compiled.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
