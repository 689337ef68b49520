//! Error of a spec that cannot be run.

/// The spec cannot be run.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{path}: {message}")]
pub struct SpecError {
    /// Place in the spec.
    pub path: String,
    /// The error, and the allowed values.
    pub message: String,
}

impl SpecError {
    /// An error at a place of the spec.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }
}
