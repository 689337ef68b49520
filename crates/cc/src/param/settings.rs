//! Checked values of an algorithm or a queue.

use std::collections::BTreeMap;

use super::domain::{Default, Parameter, Type};
use super::entry::Entry;
use super::error::{BuildError, Problem};
use super::value::{Amount, Setting, Value};
use crate::words::hint;

/// Checked values for an algorithm or a queue. A preset's values replace the defaults, and the user's values replace
/// both.
#[derive(Clone, Debug)]
pub struct Settings {
    owner: &'static str,
    values: BTreeMap<&'static str, Value>,
}

impl Settings {
    /// Combines defaults, preset and user's values, and checks each value.
    ///
    /// # Errors
    /// Every [`BuildError`] except [`BuildError::UnknownName`], [`BuildError::UnknownPreset`] and
    /// [`BuildError::Conflict`].
    pub fn new(
        owner: &'static str,
        parameters: &[Parameter],
        preset: &[(&'static str, Setting)],
        given: &BTreeMap<String, Value>,
    ) -> Result<Self, BuildError> {
        if let Some(name) = given.keys().find(|name| parameters.iter().all(|p| p.name != **name)) {
            let known: Vec<&str> = parameters.iter().map(|p| p.name).collect();
            return Err(BuildError::unknown_parameter(owner, name, &known));
        }
        let mut values = BTreeMap::new();
        for parameter in parameters {
            let set = preset.iter().find(|(name, _)| *name == parameter.name).map(|(_, setting)| (*setting).into());
            let value = match (given.get(parameter.name).cloned().or(set), parameter.domain.default) {
                (Some(value), _) => value,
                (None, Default::Value(setting)) => setting.into(),
                (None, Default::Required | Default::Derived(_)) => {
                    let (name, example) = (parameter.name, parameter.domain.kind.example());
                    let message =
                        format!("missing, and {owner} has no default for it; write for example {name} = {example}");
                    return Err(BuildError::Missing(parameter.problem(owner, message)));
                }
            };
            parameter.check(owner, &value)?;
            values.insert(parameter.name, value);
        }
        Ok(Self { owner, values })
    }

    /// Returns the settings of an algorithm with one of its presets.
    ///
    /// # Errors
    /// The errors of [`Settings::new`], and [`BuildError::UnknownPreset`].
    pub fn resolve(entry: &Entry, preset: &str, given: &BTreeMap<String, Value>) -> Result<Self, BuildError> {
        let Some(found) = entry.presets.iter().find(|p| p.name == preset) else {
            let known: Vec<&str> = entry.presets.iter().map(|p| p.name).filter(|name| !name.is_empty()).collect();
            let message = format!("'{preset}' is not a preset of {}; {}", entry.name, hint(preset, &known));
            return Err(BuildError::UnknownPreset(Problem { message, ..Problem::default() }));
        };
        Self::new(entry.name, &entry.parameters(), found.overrides, given)
    }

    /// Every value, by the name of its parameter.
    #[must_use]
    pub fn values(&self) -> &BTreeMap<&'static str, Value> {
        &self.values
    }

    /// The value of one parameter, converted to the type of a field. A parameter that is not in the owner's tables has
    /// its default.
    ///
    /// # Errors
    /// [`BuildError::WrongType`] if the field's type is not the declared one.
    pub fn read<T: Field>(&self, parameter: &Parameter) -> Result<T, BuildError> {
        let value = match (self.values.get(parameter.name), parameter.domain.default) {
            (Some(value), _) => T::of(parameter, value),
            (None, Default::Value(setting)) => T::of(parameter, &setting.into()),
            (None, Default::Required | Default::Derived(_)) => None,
        };
        let message = || "is declared with another type".to_owned();
        value.ok_or_else(|| BuildError::WrongType(parameter.problem(self.owner, message())))
    }

    /// An error about values that contradict each other.
    pub fn conflict<T>(&self, message: impl Into<String>) -> Result<T, BuildError> {
        let (owner, message) = (self.owner.to_owned(), message.into());
        Err(BuildError::Conflict(Problem { owner, parameter: None, message }))
    }

    /// An error about a value of `parameter` that another parameter's value does not allow.
    pub fn conflict_of<T>(&self, parameter: &str, message: impl Into<String>) -> Result<T, BuildError> {
        let (owner, message) = (self.owner.to_owned(), message.into());
        Err(BuildError::Conflict(Problem { owner, parameter: Some(parameter.to_owned()), message }))
    }
}

/// Type of a field in a parameter struct.
pub trait Field: Sized {
    /// Converts a value that passed [`Parameter::check`]; `None` if the declared type differs from the field's type.
    fn of(parameter: &Parameter, value: &Value) -> Option<Self>;
}

impl Field for f64 {
    fn of(_: &Parameter, value: &Value) -> Option<Self> {
        if let Value::Num(x) = value { Some(*x) } else { None }
    }
}

impl Field for u32 {
    fn of(parameter: &Parameter, value: &Value) -> Option<Self> {
        let fits = parameter.domain.kind == Type::Integer && parameter.domain.max <= f64::from(u32::MAX);
        f64::of(parameter, value).filter(|_| fits).map(|x| x as u32)
    }
}

impl Field for bool {
    fn of(_: &Parameter, value: &Value) -> Option<Self> {
        if let Value::Bool(x) = value { Some(*x) } else { None }
    }
}

impl Field for String {
    fn of(parameter: &Parameter, value: &Value) -> Option<Self> {
        match value {
            Value::Text(text) if parameter.domain.kind == Type::Text => Some(text.clone()),
            Value::Num(x) if parameter.domain.kind == Type::Text => Some(x.to_string()),
            _ => None,
        }
    }
}

impl Field for Amount {
    fn of(_: &Parameter, value: &Value) -> Option<Self> {
        if let Value::Amount(x) = value { Some(*x) } else { None }
    }
}

/// Index of a value among the parameter's words; for `choices!`.
#[must_use]
pub fn place_of_word(parameter: &Parameter, value: &Value) -> Option<usize> {
    match (parameter.domain.kind, value) {
        (Type::Word(words), Value::Text(word)) => words.iter().position(|known| known == word),
        _ => None,
    }
}
