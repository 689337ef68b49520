//! Reasons for a missing number.

/// Reason why a metric has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetricError {
    /// The metric is not defined for this run, window, flow or link; the text has the reason.
    #[error("{0}")]
    Undefined(String),
    /// The run has no flow or source of this name.
    #[error("'{0}' is not a flow of this run")]
    NoFlow(String),
    /// The link of this name was not recorded.
    #[error("the link '{0}' was not recorded")]
    NoLink(String),
    /// The caller could not supply a table; the caller knows the reason.
    #[error("the table '{0}' cannot be read")]
    Unreadable(&'static str),
}

/// A value, or the reason why there is none.
pub type Found<T> = Result<T, MetricError>;

/// The error of a metric that is not defined here.
pub(crate) fn undefined<T>(why: impl Into<String>) -> Found<T> {
    Err(MetricError::Undefined(why.into()))
}
