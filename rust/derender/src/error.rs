//! What can be wrong with the setting up of a derenderer.

/// A derenderer that cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No parser has this name.
    #[error("there is no {kind} parser `{name}`: there are {known}")]
    UnknownParser { kind: &'static str, name: String, known: String },
}

impl Error {
    pub(crate) fn unknown(kind: &'static str, name: &str, known: &[&str]) -> Self {
        Self::UnknownParser { kind, name: name.to_owned(), known: known.join(", ") }
    }
}
