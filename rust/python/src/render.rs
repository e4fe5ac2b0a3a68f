//! `Renderer`: bytes in, bytes out.

use std::sync::Arc;

use dragoman_protocol::{Result, ServingConfig};
use dragoman_render::{Parts, Reasoning, RequestTemplates};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::derender::Derenderer;
use crate::error::enter;
use crate::template::{Compiler, Template};
use crate::tokenizer::Tokenizer;

#[pyclass(frozen, module = "dragoman._core")]
pub struct Renderer {
    inner: dragoman_render::Renderer,
}

#[pymethods]
impl Renderer {
    #[new]
    #[pyo3(signature = (tokenizer, template, config, compile = None, derenderer = None))]
    fn new(
        py: Python<'_>,
        tokenizer: &Tokenizer,
        template: Option<&Template>,
        config: &[u8],
        compile: Option<Py<PyAny>>,
        derenderer: Option<&Derenderer>,
    ) -> PyResult<Self> {
        let config = enter(py, || ServingConfig::from_json(config))?;
        let parts = Parts {
            template: template.map(|template| template.inner.clone()),
            request_templates: compile.map(|compile| RequestTemplates::new(Arc::new(Compiler { compile }))),
            reasoning: derenderer.filter(|derenderer| derenderer.inner.has_reasoning_parser()).map(
                |derenderer| Arc::new(ReasoningParser(Arc::clone(&derenderer.inner))) as Arc<dyn Reasoning>,
            ),
        };
        Ok(Self {
            inner: dragoman_render::Renderer::new(Arc::clone(&tokenizer.inner), Arc::new(config), parts),
        })
    }

    #[pyo3(signature = (body, request_id = None))]
    fn chat<'py>(
        &self,
        py: Python<'py>,
        body: &[u8],
        request_id: Option<&str>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        answer(py, || self.inner.chat(body, request_id))
    }

    #[pyo3(signature = (body, request_id = None))]
    fn completions<'py>(
        &self,
        py: Python<'py>,
        body: &[u8],
        request_id: Option<&str>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        answer(py, || self.inner.completions(body, request_id))
    }

    #[pyo3(signature = (body, request_id = None))]
    fn messages<'py>(
        &self,
        py: Python<'py>,
        body: &[u8],
        request_id: Option<&str>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        answer(py, || self.inner.anthropic_messages(body, request_id))
    }

    #[pyo3(signature = (body, request_id = None))]
    fn responses<'py>(
        &self,
        py: Python<'py>,
        body: &[u8],
        request_id: Option<&str>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        answer(py, || self.inner.responses(body, request_id))
    }

    fn tokenize<'py>(&self, py: Python<'py>, body: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        answer(py, || self.inner.tokenize(body))
    }

    fn detokenize<'py>(&self, py: Python<'py>, body: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        answer(py, || self.inner.detokenize(body))
    }
}

/// The derenderer's reasoning parser, as the render side knows it.
struct ReasoningParser(Arc<dragoman_derender::Derenderer>);

impl Reasoning for ReasoningParser {
    fn ended(&self, prompt: &[u32]) -> bool {
        self.0.prompt_ends_reasoning(prompt)
    }
}

/// Bytes made without the GIL.
pub fn answer(py: Python<'_>, work: impl FnOnce() -> Result<Vec<u8>> + Send) -> PyResult<Bound<'_, PyBytes>> {
    enter(py, work).map(|body| PyBytes::new(py, &body))
}
