//! The generate request for the engine, and the schemas for the OpenAPI page.

use dragoman_protocol::{GenerateRequest, ServingConfig, json};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde_json::value::RawValue;

use crate::error::enter;

/// A checked generate request as a dict; sampling fields at their defaults may be absent.
#[pyfunction]
pub fn parse_generate_request<'py>(
    py: Python<'py>,
    body: &[u8],
    config: &[u8],
) -> PyResult<Bound<'py, PyDict>> {
    let (request, params) = enter(py, || {
        let config = ServingConfig::from_json(config)?;
        let request = GenerateRequest::parse(body, &config)?;
        let params = json::to_bytes(&request.sampling_params)?;
        Ok::<_, dragoman_protocol::Error>((request, params))
    })?;
    let loads = py.import("json")?.getattr("loads")?;
    let object = |text: Option<&str>| -> PyResult<Option<Bound<'py, PyAny>>> {
        text.map(|text| loads.call1((text,))).transpose()
    };
    let options = request.stream_options;
    let answer = PyDict::new(py);
    answer.set_item("request_id", Some(request.request_id).filter(|id| !id.is_empty()))?;
    answer.set_item("model", request.model)?;
    answer.set_item("token_ids", PyArray1::from_vec(py, request.token_ids))?;
    answer.set_item("sampling_params", loads.call1((PyBytes::new(py, &params),))?)?;
    answer.set_item("stream", request.stream)?;
    answer.set_item("include_usage", options.is_some_and(|options| options.include_usage))?;
    answer
        .set_item("continuous_usage_stats", options.is_some_and(|options| options.continuous_usage_stats))?;
    answer.set_item("reasoning_ended", request.reasoning_ended)?;
    answer.set_item("return_token_ids", request.return_token_ids.unwrap_or(false))?;
    answer.set_item("cache_salt", request.cache_salt)?;
    answer.set_item("priority", request.priority)?;
    answer
        .set_item("kv_transfer_params", object(request.kv_transfer_params.as_deref().map(RawValue::get))?)?;
    answer
        .set_item("ec_transfer_params", object(request.ec_transfer_params.as_deref().map(RawValue::get))?)?;
    Ok(answer)
}

/// JSON schemas of the hot routes' requests and responses.
#[pyfunction]
pub fn request_schemas(py: Python<'_>) -> PyResult<Bound<'_, PyBytes>> {
    let schemas = enter(py, || json::to_bytes(&dragoman_protocol::schema::schemas()))?;
    Ok(PyBytes::new(py, &schemas))
}
