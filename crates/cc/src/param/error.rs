//! Reasons why an algorithm or a queue cannot be built.

use std::fmt;

use crate::words::hint;

/// An error in a value, a name or a parameter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problem {
    /// The algorithm or the queue discipline; empty if its name is unknown.
    pub owner: String,
    /// Name of the parameter, if the error is in a parameter.
    pub parameter: Option<String>,
    /// Text that names the value that was read, and the allowed values.
    pub message: String,
}

/// Reason why an algorithm or a queue cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// No algorithm or queue has this name.
    UnknownName(Problem),
    /// The algorithm has no such preset.
    UnknownPreset(Problem),
    /// The owner has no such parameter.
    UnknownParameter(Problem),
    /// A parameter without a default was not given.
    Missing(Problem),
    /// A value of another type, such as a number instead of a word.
    WrongType(Problem),
    /// A number outside its range, or not a number.
    OutOfRange(Problem),
    /// A word that is not one of the parameter's words.
    UnknownWord(Problem),
    /// Values that are allowed, but not in combination.
    Conflict(Problem),
}

impl BuildError {
    /// Details of the error.
    #[must_use]
    pub fn problem(&self) -> &Problem {
        match self {
            Self::UnknownName(problem)
            | Self::UnknownPreset(problem)
            | Self::UnknownParameter(problem)
            | Self::Missing(problem)
            | Self::WrongType(problem)
            | Self::OutOfRange(problem)
            | Self::UnknownWord(problem)
            | Self::Conflict(problem) => problem,
        }
    }

    /// Error: no entry of the kind `article`, such as "an algorithm", is called `name`.
    pub fn unknown_name(name: &str, article: &str, known: &[&str]) -> Self {
        let message = format!("'{name}' is not {article}; {}", hint(name, known));
        Self::UnknownName(Problem { message, ..Problem::default() })
    }

    /// Error: `owner` has no parameter `name`.
    pub fn unknown_parameter(owner: &str, name: &str, known: &[&str]) -> Self {
        let allowed = if known.is_empty() { "it has none".to_owned() } else { hint(name, known) };
        let message = format!("not a parameter of {owner}; {allowed}");
        Self::UnknownParameter(Problem { owner: owner.to_owned(), parameter: Some(name.to_owned()), message })
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { owner, parameter, message } = self.problem();
        let parts = [Some(owner), parameter.as_ref(), Some(message)];
        let parts: Vec<&str> =
            parts.into_iter().flatten().map(String::as_str).filter(|part| !part.is_empty()).collect();
        f.write_str(&parts.join(": "))
    }
}

impl std::error::Error for BuildError {}
