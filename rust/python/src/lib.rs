//! The PyO3 binding: exports and conversions, no algorithm.

use pyo3::prelude::*;

#[pymodule]
mod _core {}
