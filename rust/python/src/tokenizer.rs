//! `Tokenizer` and `Encoding`.

use std::path::PathBuf;
use std::sync::Arc;

use dragoman_render::assistant_mask;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::error::enter;

#[pyclass(frozen, module = "dragoman._core")]
pub struct Tokenizer {
    pub inner: Arc<dragoman_tokenizer::Tokenizer>,
}

#[pymethods]
impl Tokenizer {
    #[staticmethod]
    #[expect(clippy::needless_pass_by_value, reason = "extracted from a Python object")]
    fn from_file(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        enter(py, || dragoman_tokenizer::Tokenizer::from_file(&path))
            .map(|inner| Self { inner: Arc::new(inner) })
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8]) -> PyResult<Self> {
        enter(py, || dragoman_tokenizer::Tokenizer::from_bytes(data))
            .map(|inner| Self { inner: Arc::new(inner) })
    }

    #[getter]
    fn vocab_size(&self) -> usize {
        self.inner.vocab_size()
    }

    #[pyo3(signature = (text, add_special_tokens = false))]
    fn encode(&self, py: Python<'_>, text: &str, add_special_tokens: bool) -> PyResult<Encoding> {
        let encoding = enter(py, || self.inner.encode(text, add_special_tokens, true))?;
        let rows = encoding.offsets.len();
        Ok(Encoding {
            ids: PyArray1::from_vec(py, encoding.ids).unbind(),
            offsets: PyArray1::from_vec(py, encoding.offsets.into_flattened()).reshape([rows, 2])?.unbind(),
        })
    }

    #[pyo3(signature = (ids, skip_special_tokens = true))]
    fn decode(&self, py: Python<'_>, ids: TokenIds<'_>, skip_special_tokens: bool) -> PyResult<String> {
        let ids = ids.into_vec()?;
        enter(py, || self.inner.decode(&ids, skip_special_tokens))
    }
}

/// Ids as Python hands them over: an array, or any sequence of integers.
#[derive(FromPyObject)]
pub enum TokenIds<'py> {
    Array(PyReadonlyArray1<'py, u32>),
    Sequence(Vec<u32>),
}

impl TokenIds<'_> {
    pub fn into_vec(self) -> PyResult<Vec<u32>> {
        match self {
            Self::Array(array) => Ok(array.to_vec()?),
            Self::Sequence(ids) => Ok(ids),
        }
    }
}

#[pyclass(frozen, module = "dragoman._core")]
pub struct Encoding {
    ids: Py<PyArray1<u32>>,
    offsets: Py<PyArray2<u32>>,
}

#[pymethods]
impl Encoding {
    #[getter]
    fn ids(&self, py: Python<'_>) -> Py<PyArray1<u32>> {
        self.ids.clone_ref(py)
    }

    #[getter]
    fn offsets(&self, py: Python<'_>) -> Py<PyArray2<u32>> {
        self.offsets.clone_ref(py)
    }

    #[expect(clippy::needless_pass_by_value, reason = "extracted from a Python object")]
    fn assistant_mask<'py>(
        &self,
        py: Python<'py>,
        spans: Vec<(usize, usize)>,
    ) -> PyResult<Bound<'py, PyArray1<u8>>> {
        let flat = self.offsets.bind(py).to_vec()?;
        let offsets: Vec<[u32; 2]> = flat.as_chunks().0.to_vec();
        let mask =
            enter(py, || Ok::<_, dragoman_protocol::Error>(assistant_mask(&spans, &offsets, offsets.len())))?;
        Ok(PyArray1::from_vec(py, mask))
    }
}
