//! What a client is told when a request cannot be served.

/// A refused request. The HTTP status of each kind lives in `dragoman/server/errors.py`.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// A field is missing, of the wrong type, or out of its range. `param` is its path, such as `body.messages.0.role`.
    #[error("{message}")]
    Validation { message: String, param: String },
    /// The fields are well-formed, but the server cannot do what they ask for together.
    #[error("{message}")]
    BadRequest { message: String, param: Option<String> },
    /// As [`Error::BadRequest`], in the words of the Responses API.
    #[error("{message}")]
    InvalidRequest { message: String, param: Option<String> },
    /// A model or another named thing that is not served here.
    #[error("{message}")]
    NotFound { message: String, param: Option<String> },
    /// A body over the limit on its bytes.
    #[error("{message}")]
    TooLarge { message: String },
    /// A fault of the server.
    #[error("{message}")]
    Internal { message: String },
}

/// The result of reading or answering a request.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// A field that failed its check. `path` is the field's path below the body, such as `messages.0.role`.
    pub fn validation(path: &str, message: impl Into<String>) -> Self {
        let param = if path.is_empty() { "body".to_owned() } else { format!("body.{path}") };
        Self::Validation { message: message.into(), param }
    }

    /// A request that is well-formed and cannot be served, blamed on no single parameter.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::BadRequest { message: message.into(), param: None }
    }

    /// A parameter with a value that cannot be served.
    pub fn bad_parameter(param: &str, message: impl Into<String>) -> Self {
        Self::BadRequest { message: message.into(), param: Some(param.to_owned()) }
    }

    /// The name under which `dragoman/server/errors.py` lists the status.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Validation { .. } => "validation",
            Self::BadRequest { .. } => "bad_request",
            Self::InvalidRequest { .. } => "invalid_request",
            Self::NotFound { .. } => "not_found",
            Self::TooLarge { .. } => "too_large",
            Self::Internal { .. } => "internal",
        }
    }

    /// The parameter that is to blame, where one is.
    #[must_use]
    pub fn param(&self) -> Option<&str> {
        match self {
            Self::Validation { param, .. } => Some(param),
            Self::BadRequest { param, .. }
            | Self::InvalidRequest { param, .. }
            | Self::NotFound { param, .. } => param.as_deref(),
            Self::TooLarge { .. } | Self::Internal { .. } => None,
        }
    }
}
