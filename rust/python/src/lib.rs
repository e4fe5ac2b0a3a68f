//! The PyO3 binding: exports and conversions, no algorithm.

mod derender;
mod error;
mod generate;
mod panic;
mod render;
mod template;
mod tokenizer;

use pyo3::prelude::*;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[pymodule]
mod _core {
    #[pymodule_export]
    use crate::derender::{DerenderStream, Derenderer, StopWatch, choose_parsers};
    #[pymodule_export]
    use crate::error::{CorePanicError, RequestError, TemplateBudgetError};
    #[pymodule_export]
    use crate::generate::{parse_generate_request, request_schemas};
    #[pymodule_export]
    use crate::panic::panic_in_core;
    #[pymodule_export]
    use crate::render::Renderer;
    #[pymodule_export]
    use crate::template::{Rendered, Template};
    #[pymodule_export]
    use crate::tokenizer::{Encoding, Tokenizer};

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
