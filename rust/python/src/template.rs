//! `Template`, its input as JSON, and the bridge to CPython's jinja2.

use std::sync::Arc;

use dragoman_protocol::{Json, json};
use dragoman_render::{Compile, Fallback};
use dragoman_template::{
    Budget, NaiveDateTime, TemplateError, TemplateInput, alias_reasoning, drop_null_fields,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::enter;

#[pyclass(frozen, module = "dragoman._core")]
pub struct Template {
    pub inner: dragoman_render::Template,
}

#[pymethods]
impl Template {
    #[new]
    #[pyo3(signature = (source, special_tokens, fallback = None))]
    fn new(
        py: Python<'_>,
        source: &str,
        special_tokens: &[u8],
        fallback: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let tokens = match parse(special_tokens)?.into_static() {
            Json::Object(members) => {
                members.iter().map(|(key, value)| (key.to_string(), value.clone())).collect()
            }
            _ => Vec::new(),
        };
        let fallback = fallback.map(|render| Arc::new(Jinja2 { render }) as Arc<dyn Fallback>);
        let inner = enter(py, || dragoman_render::Template::new(source, &tokens, fallback))?;
        Ok(Self { inner })
    }

    #[getter]
    fn has_generation_blocks(&self) -> bool {
        self.inner.has_generation_blocks()
    }

    /// Renders an input given as JSON: see `dragoman.ChatTemplate.render_json`.
    #[pyo3(signature = (payload, now = None))]
    fn render_json(&self, py: Python<'_>, payload: &[u8], now: Option<&str>) -> PyResult<Rendered> {
        let payload = parse(payload)?;
        let now = now.or_else(|| json::get_some(&payload, "now").and_then(json::as_str));
        let now = now.map(time).transpose()?;
        let kwargs = match json::get(&payload, "kwargs") {
            Some(Json::Object(members)) => json::unique_members(members)
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value.clone()))
                .collect(),
            _ => Vec::new(),
        };
        let flag = |key: &str| matches!(json::get(&payload, key), Some(Json::Bool(true)));
        let mut messages =
            json::get(&payload, "messages").cloned().unwrap_or_else(|| json::array(Vec::new()));
        if flag("normalize") {
            messages = drop_null_fields(&messages);
        }
        let messages = alias_reasoning(&messages);
        let input = TemplateInput {
            messages: &messages,
            tools: json::get_some(&payload, "tools"),
            documents: json::get_some(&payload, "documents"),
            add_generation_prompt: flag("add_generation_prompt"),
            continue_final_message: flag("continue_final_message"),
            kwargs: &kwargs,
            now,
        };
        let rendered = enter(py, || self.inner.render(&input, &Budget::default()))?;
        Ok(Rendered { text: rendered.text, assistant_spans: rendered.assistant_spans })
    }
}

fn time(text: &str) -> PyResult<NaiveDateTime> {
    text.parse().map_err(|error| PyValueError::new_err(format!("now: {text:?} is no ISO 8601 time: {error}")))
}

fn parse(text: &[u8]) -> PyResult<Json<'_>> {
    Json::parse(text, true).map_err(|error| PyValueError::new_err(error.to_string()))
}

#[pyclass(frozen, get_all, module = "dragoman._core")]
pub struct Rendered {
    text: String,
    assistant_spans: Vec<(usize, usize)>,
}

/// A Python function that renders one template.
struct Jinja2 {
    render: Py<PyAny>,
}

impl Fallback for Jinja2 {
    fn render(&self, input: &TemplateInput<'_>) -> Result<dragoman_template::Rendered, TemplateError> {
        let payload = payload(input).map_err(|error| TemplateError::Raised(error.to_string()))?;
        Python::attach(|py| {
            let answer = self.render.call1(py, (PyBytes::new(py, &payload),))?;
            answer.extract::<(String, Vec<(usize, usize)>)>(py)
        })
        .map(|(text, assistant_spans)| dragoman_template::Rendered { text, assistant_spans })
        .map_err(|error| Python::attach(|py| TemplateError::Raised(error.value(py).to_string())))
    }
}

/// The input as [`Template::render_json`] reads it.
fn payload(input: &TemplateInput<'_>) -> dragoman_protocol::Result<Vec<u8>> {
    let optional = |value: Option<&Json<'_>>| value.map_or(Json::Null, Json::to_static);
    let kwargs = input.kwargs.iter().map(|(name, value)| (name.clone().into(), value.clone())).collect();
    let members = vec![
        ("messages".into(), input.messages.clone()),
        ("tools".into(), optional(input.tools)),
        ("documents".into(), optional(input.documents)),
        ("add_generation_prompt".into(), Json::Bool(input.add_generation_prompt)),
        ("continue_final_message".into(), Json::Bool(input.continue_final_message)),
        ("kwargs".into(), json::object(kwargs)),
        ("now".into(), input.now.map_or(Json::Null, |now| Json::Str(now.to_string().into()))),
    ];
    json::to_bytes(&json::Serialized(&json::object(members)))
}

/// A Python function that compiles the templates of requests: source to `Template`.
pub struct Compiler {
    pub compile: Py<PyAny>,
}

impl Compile for Compiler {
    fn compile(&self, source: &str) -> Result<dragoman_render::Template, TemplateError> {
        Python::attach(|py| {
            let template = self.compile.call1(py, (source,))?;
            Ok(template.extract::<PyRef<'_, Template>>(py)?.inner.clone())
        })
        .map_err(|error: PyErr| Python::attach(|py| TemplateError::Raised(error.value(py).to_string())))
    }
}
