//! Chat templates.

use std::time::Duration;

use jiter::JsonValue;
use minijinja::{Environment, Value};

pub struct ChatTemplate {
    environment: Environment<'static>,
    special: Vec<(String, JsonValue<'static>)>,
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TemplateError {
    #[error("{0}")]
    Raised(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    pub fuel: u64,
    pub output_bytes: usize,
    pub time: Duration,
}

impl Default for Budget {
    fn default() -> Self {
        Self { fuel: 5_000_000, output_bytes: 64 << 20, time: Duration::from_secs(1) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentFormat {
    String,
    OpenAi,
}

pub struct TemplateInput<'a> {
    pub messages: &'a JsonValue<'a>,
    pub tools: Option<&'a JsonValue<'a>>,
    pub documents: Option<&'a JsonValue<'a>>,
    pub add_generation_prompt: bool,
    pub continue_final_message: bool,
    pub kwargs: &'a [(String, JsonValue<'a>)],
    pub now: Option<u8>,
}

pub struct Rendered {
    pub text: String,
    pub assistant_spans: Vec<(usize, usize)>,
}

fn value(json: &JsonValue<'_>) -> Value {
    match json {
        JsonValue::Null => Value::from(()),
        JsonValue::Bool(b) => Value::from(*b),
        JsonValue::Int(i) => Value::from(*i),
        JsonValue::BigInt(b) => Value::from(b.to_string()),
        JsonValue::Float(f) => Value::from(*f),
        JsonValue::Str(s) => Value::from(s.as_ref()),
        JsonValue::Array(a) => a.iter().map(value).collect(),
        JsonValue::Object(o) => o.iter().map(|(k, v)| (k.as_ref(), value(v))).collect(),
    }
}

impl ChatTemplate {
    pub fn new(source: &str, special: &[(String, JsonValue<'static>)]) -> Result<Self, TemplateError> {
        let mut environment = Environment::new();
        let mut syntax = minijinja::syntax::SyntaxConfig::builder();
        syntax.trim_blocks(true).lstrip_blocks(true);
        environment.set_syntax(syntax.build().map_err(|e| TemplateError::Raised(e.to_string()))?);
        environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        environment
            .add_template_owned("chat", source.to_owned())
            .map_err(|e| TemplateError::Raised(e.to_string()))?;
        Ok(Self { environment, special: special.to_vec() })
    }
    pub fn has_generation_blocks(&self) -> bool {
        false
    }
    pub fn content_format(&self) -> ContentFormat {
        ContentFormat::String
    }
    pub fn render(&self, input: &TemplateInput<'_>, _: &Budget) -> Result<Rendered, TemplateError> {
        let mut members: Vec<(String, Value)> =
            self.special.iter().map(|(k, v)| (k.clone(), value(v))).collect();
        members.extend(input.kwargs.iter().map(|(k, v)| (k.clone(), value(v))));
        members.push(("messages".into(), value(input.messages)));
        members.push(("add_generation_prompt".into(), Value::from(input.add_generation_prompt)));
        if let Some(tools) = input.tools {
            members.push(("tools".into(), value(tools)));
        }
        let text = self
            .environment
            .get_template("chat")
            .and_then(|t| t.render(members.into_iter().collect::<Value>()))
            .map_err(|e| TemplateError::Raised(e.to_string()))?;
        Ok(Rendered { text, assistant_spans: Vec::new() })
    }
}
