//! The one map from the core's errors to Python exceptions, and the one way to leave the interpreter.

use dragoman_template::TemplateError;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::panic::{CorePanic, catch};

pyo3::create_exception!(
    dragoman._core,
    RequestError,
    PyValueError,
    "A request that cannot be served: `kind`, `message` and `param` say why."
);

pyo3::create_exception!(
    dragoman._core,
    TemplateBudgetError,
    PyValueError,
    "A template that takes too many steps, too long, nests too deep or makes too much text."
);

pyo3::create_exception!(
    dragoman._core,
    CorePanicError,
    PyRuntimeError,
    "A fault of the core itself: its text is the message, the place and the backtrace of a panic."
);

/// Runs `work` without the GIL; the core's errors and panics become exceptions.
pub fn enter<T, E>(py: Python<'_>, work: impl FnOnce() -> Result<T, E> + Send) -> PyResult<T>
where
    T: Send,
    E: Send + Into<Fault>,
{
    match py.detach(|| catch(work)) {
        Ok(result) => result.map_err(|error| raise(py, error.into())),
        Err(CorePanic(report)) => Err(CorePanicError::new_err(report)),
    }
}

/// Any error of the core.
pub enum Fault {
    Request(dragoman_protocol::Error),
    Template(dragoman_template::TemplateError),
    Tokenizer(dragoman_tokenizer::Error),
    Derender(dragoman_derender::Error),
}

impl From<dragoman_derender::Error> for Fault {
    fn from(error: dragoman_derender::Error) -> Self {
        Self::Derender(error)
    }
}

impl From<dragoman_protocol::Error> for Fault {
    fn from(error: dragoman_protocol::Error) -> Self {
        Self::Request(error)
    }
}

impl From<dragoman_template::TemplateError> for Fault {
    fn from(error: dragoman_template::TemplateError) -> Self {
        Self::Template(error)
    }
}

impl From<dragoman_tokenizer::Error> for Fault {
    fn from(error: dragoman_tokenizer::Error) -> Self {
        Self::Tokenizer(error)
    }
}

/// The exception of an error.
pub fn raise(py: Python<'_>, fault: Fault) -> PyErr {
    match fault {
        Fault::Request(error) => request_error(py, &error),
        Fault::Template(
            error @ (TemplateError::TooManySteps { .. }
            | TemplateError::TooSlow { .. }
            | TemplateError::TooDeep { .. }
            | TemplateError::OutputTooLarge { .. }),
        ) => TemplateBudgetError::new_err(error.to_string()),
        Fault::Template(error) => PyValueError::new_err(error.to_string()),
        Fault::Tokenizer(error) => PyValueError::new_err(error.to_string()),
        Fault::Derender(error) => PyValueError::new_err(error.to_string()),
    }
}

fn request_error(py: Python<'_>, error: &dragoman_protocol::Error) -> PyErr {
    let exception = RequestError::new_err(error.to_string());
    let value = exception.value(py);
    let set = || -> PyResult<()> {
        value.setattr("kind", error.kind())?;
        value.setattr("message", error.to_string())?;
        value.setattr("param", error.param())
    };
    match set() {
        Ok(()) => exception,
        Err(fault) => PyRuntimeError::new_err(format!("{error} ({fault})")),
    }
}
