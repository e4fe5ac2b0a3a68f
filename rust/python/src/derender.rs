//! `Derenderer` and `DerenderStream`: bytes in, bytes out.

use std::sync::{Arc, Mutex, PoisonError};

use dragoman_derender::ChoiceStream;
use dragoman_protocol::generate_response::StopReason;
use dragoman_protocol::{Fields, SamplingParams, ServingConfig, json};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::enter;
use crate::tokenizer::{TokenIds, Tokenizer};

#[pyclass(frozen, module = "dragoman._core")]
pub struct Derenderer {
    pub inner: Arc<dragoman_derender::Derenderer>,
}

#[pymethods]
impl Derenderer {
    #[new]
    fn new(py: Python<'_>, tokenizer: &Tokenizer, config: &[u8]) -> PyResult<Self> {
        let tokenizer = Arc::clone(&tokenizer.inner);
        let config = enter(py, || ServingConfig::from_json(config))?;
        let inner = enter(py, || dragoman_derender::Derenderer::new(tokenizer, Arc::new(config)))?;
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The response body, and whether parsers ran over the text.
    fn chat<'py>(&self, py: Python<'py>, body: &[u8]) -> PyResult<(Bound<'py, PyBytes>, bool)> {
        let answer = enter(py, || self.inner.chat(body))?;
        Ok((PyBytes::new(py, &answer.body), answer.parsed))
    }

    fn completions<'py>(&self, py: Python<'py>, body: &[u8]) -> PyResult<(Bound<'py, PyBytes>, bool)> {
        let answer = enter(py, || self.inner.completions(body))?;
        Ok((PyBytes::new(py, &answer.body), answer.parsed))
    }

    #[pyo3(signature = (prompt_token_ids, chat_request = None))]
    fn stream(
        &self,
        py: Python<'_>,
        prompt_token_ids: TokenIds<'_>,
        chat_request: Option<&[u8]>,
    ) -> PyResult<DerenderStream> {
        let prompt = prompt_token_ids.into_vec()?;
        let inner = enter(py, || self.inner.stream(&prompt, chat_request))?;
        Ok(DerenderStream { inner: Mutex::new(inner) })
    }

    /// Finds the stop strings of `sampling_params` (JSON) in the output that follows a prompt.
    #[pyo3(signature = (prompt_token_ids, sampling_params, *, reasoning = false))]
    fn watch_stops(
        &self,
        py: Python<'_>,
        prompt_token_ids: TokenIds<'_>,
        sampling_params: &[u8],
        reasoning: bool,
    ) -> PyResult<StopWatch> {
        let prompt = prompt_token_ids.into_vec()?;
        let inner = enter(py, || {
            let parsed = json::parse(sampling_params, self.inner.bounds())?;
            let sampling = SamplingParams::parse(&Fields::of_body(&parsed)?)?;
            self.inner.watch_stops(&prompt, &sampling, reasoning)
        })?;
        let derenderer = Arc::clone(&self.inner);
        Ok(StopWatch { inner: Mutex::new(inner), derenderer, prompt: prompt.into() })
    }

    #[getter]
    fn has_reasoning_parser(&self) -> bool {
        self.inner.has_reasoning_parser()
    }

    /// Whether the last turn of a prompt closes the reasoning.
    fn prompt_ends_reasoning(&self, py: Python<'_>, token_ids: TokenIds<'_>) -> PyResult<bool> {
        let ids = token_ids.into_vec()?;
        enter(py, || Ok::<_, dragoman_protocol::Error>(self.inner.prompt_ends_reasoning(&ids)))
    }

    /// Whether these ids, the last of an output, bring its reasoning to an end.
    fn output_ends_reasoning(&self, py: Python<'_>, token_ids: TokenIds<'_>) -> PyResult<bool> {
        let ids = token_ids.into_vec()?;
        enter(py, || Ok::<_, dragoman_protocol::Error>(self.inner.output_ends_reasoning(&ids)))
    }
}

#[pyclass(frozen, module = "dragoman._core")]
pub struct StopWatch {
    inner: Mutex<ChoiceStream>,
    derenderer: Arc<dragoman_derender::Derenderer>,
    prompt: Arc<[u32]>,
}

#[pymethods]
impl StopWatch {
    /// Reads the next ids; the stop string that has been met, once there is one.
    fn push(&self, py: Python<'_>, token_ids: TokenIds<'_>) -> PyResult<Option<String>> {
        let ids = token_ids.into_vec()?;
        enter(py, || {
            let mut stream = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
            stream.push(&ids)?;
            Ok::<_, dragoman_protocol::Error>(stream.stop_string().map(str::to_owned))
        })
    }

    /// The same for another choice of the request.
    fn another(&self, py: Python<'_>) -> PyResult<Self> {
        let inner = enter(py, || {
            let stream = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
            self.derenderer.another(&self.prompt, &stream)
        })?;
        Ok(Self {
            inner: Mutex::new(inner),
            derenderer: Arc::clone(&self.derenderer),
            prompt: Arc::clone(&self.prompt),
        })
    }
}

#[pyclass(frozen, module = "dragoman._core")]
pub struct DerenderStream {
    inner: Mutex<ChoiceStream>,
}

#[derive(FromPyObject)]
enum PyStopReason {
    TokenId(i64),
    Text(String),
}

#[pymethods]
impl DerenderStream {
    fn push<'py>(&self, py: Python<'py>, token_ids: TokenIds<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let ids = token_ids.into_vec()?;
        let delta = enter(py, || self.inner.lock().unwrap_or_else(PoisonError::into_inner).push(&ids))?;
        Ok(PyBytes::new(py, &delta))
    }

    #[pyo3(signature = (finish_reason = Some("stop"), stop_reason = None))]
    fn finish<'py>(
        &self,
        py: Python<'py>,
        finish_reason: Option<&str>,
        stop_reason: Option<PyStopReason>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let stop_reason = stop_reason.map(|reason| match reason {
            PyStopReason::TokenId(id) => StopReason::Token(id),
            PyStopReason::Text(text) => StopReason::Text(text),
        });
        let delta = enter(py, || {
            self.inner
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .finish(finish_reason, stop_reason.as_ref())
        })?;
        Ok(PyBytes::new(py, &delta))
    }
}

/// The tool parser and the reasoning parser that fit a model; None where nothing tells one.
#[pyfunction]
#[pyo3(signature = (model_type, template))]
pub fn choose_parsers(
    model_type: Option<&str>,
    template: Option<&str>,
) -> (Option<&'static str>, Option<&'static str>) {
    dragoman_derender::auto::choose(model_type, template)
}
