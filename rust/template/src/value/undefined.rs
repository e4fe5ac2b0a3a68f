//! Undefined values: what they say when they are used.

use std::sync::Arc;

use crate::error::TemplateError;

/// Why a value is undefined.
#[derive(Debug, Clone)]
pub(crate) enum Undefined {
    /// No such variable.
    Name(Arc<str>),
    /// No such attribute on a value of the named type.
    Attribute { owner: String, name: Arc<str> },
    /// No such element.
    Element { owner: String, key: String },
    /// Reserved for the sandbox: the attribute exists and must not be touched.
    Unsafe { owner: &'static str, name: Arc<str> },
    /// Some other reason, in words.
    Reason(String),
}

impl Undefined {
    /// The error that use of the value gives.
    pub fn error(&self) -> TemplateError {
        match self {
            Self::Name(name) => TemplateError::Undefined(format!("'{name}' is undefined")),
            Self::Attribute { owner, name } => {
                TemplateError::Undefined(format!("'{owner}' has no attribute '{name}'"))
            }
            Self::Element { owner, key } => TemplateError::Undefined(format!("{owner} has no element {key}")),
            Self::Unsafe { owner, name } => TemplateError::Security(format!(
                "access to attribute '{name}' of '{owner}' object is unsafe."
            )),
            Self::Reason(reason) => TemplateError::Undefined(reason.clone()),
        }
    }
}
