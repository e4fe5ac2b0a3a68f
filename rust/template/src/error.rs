//! What can go wrong when a template is compiled or rendered.

use std::time::Duration;

/// The one error type of this crate.
///
/// The text of [`TemplateError::Raised`] is exactly what the template gave to `raise_exception`; the texts of
/// the others follow jinja2 where it has one.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TemplateError {
    /// The source is not a template. `line` counts from 1.
    #[error("template syntax error on line {line}: {message}")]
    Syntax { message: String, line: usize },
    /// The template called `raise_exception(message)`.
    #[error("{0}")]
    Raised(String),
    /// An undefined value was used for something that needs a value.
    #[error("{0}")]
    Undefined(String),
    /// The sandbox forbids it.
    #[error("{0}")]
    Security(String),
    /// A filter or test that does not exist was reached.
    #[error("No {kind} named '{name}'.")]
    Unknown { kind: &'static str, name: String },
    /// An operation failed as it does in Python; `exception` is the name of the Python exception.
    #[error("{exception}: {message}")]
    Operation { exception: &'static str, message: String },
    /// `continue_final_message` cannot be honoured.
    #[error("{0}")]
    ContinueFinalMessage(String),
    /// The input is not what a chat template takes.
    #[error("{0}")]
    Input(String),
    /// Calls or values are nested too deeply.
    #[error("template recursion exceeds {limit} levels")]
    TooDeep { limit: usize },
    /// [`Budget::fuel`](crate::Budget::fuel) ran out.
    #[error("template takes more than {limit} steps")]
    TooManySteps { limit: u64 },
    /// A text or a list, the output among them, would exceed [`Budget::output_bytes`](crate::Budget::output_bytes).
    #[error("template makes {bytes} bytes of text at once, limit {limit}")]
    OutputTooLarge { bytes: usize, limit: usize },
    /// [`Budget::time`](crate::Budget::time) ran out.
    #[error("template takes longer than {limit:?}")]
    TooSlow { limit: Duration },
}

/// The result of an operation on template values.
pub(crate) type Outcome<T> = Result<T, TemplateError>;

/// A Python `TypeError`.
pub(crate) fn type_error(message: impl Into<String>) -> TemplateError {
    TemplateError::Operation { exception: "TypeError", message: message.into() }
}

/// A Python `ValueError`.
pub(crate) fn value_error(message: impl Into<String>) -> TemplateError {
    TemplateError::Operation { exception: "ValueError", message: message.into() }
}

/// A Python `OverflowError`.
pub(crate) fn overflow_error(message: impl Into<String>) -> TemplateError {
    TemplateError::Operation { exception: "OverflowError", message: message.into() }
}

/// A Python `ZeroDivisionError`.
pub(crate) fn zero_division(message: impl Into<String>) -> TemplateError {
    TemplateError::Operation { exception: "ZeroDivisionError", message: message.into() }
}

/// jinja2's `TemplateRuntimeError`.
pub(crate) fn runtime_error(message: impl Into<String>) -> TemplateError {
    TemplateError::Operation { exception: "TemplateRuntimeError", message: message.into() }
}
