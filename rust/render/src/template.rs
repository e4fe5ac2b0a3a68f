//! The chat template of a model, in the engine that renders it right.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

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
    built_in: Arc<ChatTemplate>,
    fallback: Option<Arc<dyn Fallback>>,
}

impl Template {
    /// A template that the built-in engine renders, or `fallback` where it is given.
    #[must_use]
    pub fn new(built_in: ChatTemplate, fallback: Option<Arc<dyn Fallback>>) -> Self {
        Self { built_in: Arc::new(built_in), fallback }
    }

    /// Whether the template marks what an assistant wrote.
    #[must_use]
    pub fn has_generation_blocks(&self) -> bool {
        self.built_in.has_generation_blocks()
    }

    /// How the template reads message content.
    #[must_use]
    pub fn content_format(&self) -> ContentFormat {
        self.built_in.content_format()
    }

    /// Renders a conversation.
    ///
    /// # Errors
    /// What the template raises, and the budget.
    pub fn render(&self, input: &TemplateInput<'_>, budget: &Budget) -> Result<Rendered, TemplateError> {
        match &self.fallback {
            Some(fallback) => fallback.render(input),
            None => self.built_in.render(input, budget),
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
