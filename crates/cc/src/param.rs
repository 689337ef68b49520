//! Parameters as data: every algorithm declares each of its parameters once, with default, limits, unit and source.
//!
//! [`params!`](crate::param) turns that declaration into a struct, a constant table for the documentation and the
//! checked reading of what a user asked for, so that no default is written twice.

use std::collections::BTreeMap;
use std::fmt;

/// What a user gives for a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number, in the unit that the parameter states.
    Num(f64),
    /// On or off.
    Bool(bool),
    /// One of the choices that the parameter states.
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Num(x) => write!(f, "{x}"),
            Value::Bool(x) => write!(f, "{x}"),
            Value::Text(x) => write!(f, "'{x}'"),
        }
    }
}

/// A value in a constant table: a default, or what a preset sets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Setting {
    /// A number.
    Num(f64),
    /// On or off.
    Bool(bool),
    /// One of the parameter's choices.
    Text(&'static str),
}

impl From<Setting> for Value {
    fn from(setting: Setting) -> Self {
        match setting {
            Setting::Num(x) => Value::Num(x),
            Setting::Bool(x) => Value::Bool(x),
            Setting::Text(x) => Value::Text(x.to_owned()),
        }
    }
}

/// Default and limits of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Domain {
    /// Used where neither the preset nor the user says otherwise.
    pub default: Setting,
    /// Smallest value allowed (numbers only).
    pub min: f64,
    /// Largest value allowed (numbers only).
    pub max: f64,
    /// Unit of a number; empty for a ratio, a switch or a choice.
    pub unit: &'static str,
    /// The words allowed (choices only).
    pub choices: &'static [&'static str],
}

/// A number between `min` and `max`, both allowed.
#[must_use]
pub const fn num(default: f64, min: f64, max: f64, unit: &'static str) -> Domain {
    Domain { default: Setting::Num(default), min, max, unit, choices: &[] }
}

/// A switch.
#[must_use]
pub const fn flag(default: bool) -> Domain {
    Domain { default: Setting::Bool(default), min: 0.0, max: 1.0, unit: "", choices: &[] }
}

/// One word out of a few.
#[must_use]
pub const fn choice(default: &'static str, choices: &'static [&'static str]) -> Domain {
    Domain { default: Setting::Text(default), min: 0.0, max: 0.0, unit: "", choices }
}

/// One parameter, as the documentation and the error messages see it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParamSpec {
    /// Name, as a user writes it.
    pub name: &'static str,
    /// Default and limits.
    pub domain: Domain,
    /// Paper or RFC with section, or the code that the value comes from.
    pub source: &'static str,
    /// What it does.
    pub doc: &'static str,
}

/// Named values of some parameters: where the sources of an algorithm disagree, each source is a preset.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Preset {
    /// What follows the colon; empty for the algorithm's own name.
    pub name: &'static str,
    /// Which source it stands for.
    pub title: &'static str,
    /// The parameters that it changes.
    pub overrides: &'static [(&'static str, Setting)],
}

/// What drives an algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Losses (and ECN marks) only.
    Loss,
    /// Queueing delay; losses are the exception.
    Delay,
    /// Both.
    Hybrid,
    /// A model of the path: its bandwidth and delay, or what a rate is worth there.
    Model,
    /// What routers say, which have to be of its own kind.
    Router,
}

impl Kind {
    /// The word used in lists.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Loss => "loss",
            Kind::Delay => "delay",
            Kind::Hybrid => "hybrid",
            Kind::Model => "model",
            Kind::Router => "router",
        }
    }
}

/// An algorithm as the registry describes it.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Name, as a user writes it.
    pub name: &'static str,
    /// Full name.
    pub title: &'static str,
    /// What drives it.
    pub kind: Kind,
    /// What it needs from the endpoint.
    pub signals: &'static [&'static str],
    /// Paper or RFC.
    pub source: &'static str,
    /// One paragraph: the idea, and how the default differs from the sources.
    pub doc: &'static str,
    /// The first one is the algorithm without a suffix.
    pub presets: &'static [Preset],
    /// The parameter tables: the algorithm's own, then those it shares.
    pub tables: &'static [&'static [ParamSpec]],
}

impl Entry {
    /// Every parameter once, with the defaults of the algorithm without a suffix.
    #[must_use]
    pub fn parameters(&self) -> Vec<ParamSpec> {
        let mut all: Vec<ParamSpec> = self.tables.iter().flat_map(|table| table.iter().copied()).collect();
        let Some(base) = self.presets.first() else { return all };
        for (name, setting) in base.overrides {
            for spec in all.iter_mut().filter(|spec| spec.name == *name) {
                spec.domain.default = *setting;
            }
        }
        all
    }
}

/// Why an algorithm could not be built from what a user wrote.
#[derive(Clone, Debug, PartialEq)]
pub enum BuildError {
    /// No algorithm has this name.
    UnknownAlgorithm {
        /// What was read.
        name: String,
        /// What exists.
        allowed: Vec<&'static str>,
    },
    /// The algorithm has no such preset.
    UnknownPreset {
        /// The algorithm.
        algorithm: &'static str,
        /// What was read after the colon.
        preset: String,
        /// What exists.
        allowed: Vec<&'static str>,
    },
    /// The algorithm has no such parameter.
    UnknownParameter {
        /// The algorithm.
        algorithm: &'static str,
        /// What was read.
        parameter: String,
        /// What exists.
        allowed: Vec<&'static str>,
    },
    /// A number where a word was expected, or the like.
    WrongType {
        /// The algorithm.
        algorithm: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// What was read.
        value: Value,
        /// What is allowed, in words.
        expected: String,
    },
    /// A number outside its limits, or not a number.
    OutOfRange {
        /// The algorithm.
        algorithm: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// What was read.
        value: f64,
        /// Smallest allowed.
        min: f64,
        /// Largest allowed.
        max: f64,
        /// Unit of all three.
        unit: &'static str,
    },
    /// A word that is none of the parameter's choices.
    UnknownChoice {
        /// The algorithm.
        algorithm: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// What was read.
        value: String,
        /// What is allowed.
        allowed: Vec<&'static str>,
    },
    /// Values that are each allowed, but not together.
    Conflict {
        /// The algorithm.
        algorithm: &'static str,
        /// What contradicts what.
        message: String,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownAlgorithm { name, allowed } => {
                write!(f, "'{name}' is not an algorithm; allowed: {}", allowed.join(", "))
            }
            Self::UnknownPreset { algorithm, preset, allowed } => {
                write!(f, "'{preset}' is not a preset of {algorithm}; allowed: {}", allowed.join(", "))
            }
            Self::UnknownParameter { algorithm, parameter, allowed } => {
                write!(f, "'{parameter}' is not a parameter of {algorithm}; allowed: {}", allowed.join(", "))
            }
            Self::WrongType { algorithm, parameter, value, expected } => {
                write!(f, "{parameter} of {algorithm}: {value} is not {expected}")
            }
            Self::OutOfRange { algorithm, parameter, value, min, max, unit } => {
                let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
                write!(f, "{parameter} of {algorithm}: {value} is outside {min} to {max}{unit}")
            }
            Self::UnknownChoice { algorithm, parameter, value, allowed } => {
                write!(f, "{parameter} of {algorithm}: '{value}' is not one of {}", allowed.join(", "))
            }
            Self::Conflict { algorithm, message } => write!(f, "{algorithm}: {message}"),
        }
    }
}

impl std::error::Error for BuildError {}

/// The values that an algorithm is built with: its defaults, then a preset's, then the user's.
#[derive(Debug)]
pub struct Settings {
    algorithm: &'static str,
    values: BTreeMap<&'static str, Value>,
}

impl Settings {
    /// Puts the three layers together.
    ///
    /// # Errors
    /// [`BuildError::UnknownPreset`] and [`BuildError::UnknownParameter`]; what the values themselves may be is checked
    /// when they are read.
    pub fn resolve(entry: &Entry, preset: &str, params: &BTreeMap<String, Value>) -> Result<Self, BuildError> {
        let specs = entry.parameters();
        let Some(preset) = entry.presets.iter().find(|p| p.name == preset) else {
            let allowed = entry.presets.iter().map(|p| p.name).filter(|name| !name.is_empty()).collect();
            return Err(BuildError::UnknownPreset { algorithm: entry.name, preset: preset.to_owned(), allowed });
        };
        let mut values: BTreeMap<&'static str, Value> =
            specs.iter().map(|spec| (spec.name, spec.domain.default.into())).collect();
        for (name, setting) in preset.overrides {
            values.insert(name, (*setting).into());
        }
        for (name, value) in params {
            let Some(spec) = specs.iter().find(|spec| spec.name == name) else {
                let allowed = specs.iter().map(|spec| spec.name).collect();
                return Err(BuildError::UnknownParameter { algorithm: entry.name, parameter: name.clone(), allowed });
            };
            values.insert(spec.name, value.clone());
        }
        Ok(Self { algorithm: entry.name, values })
    }

    /// The value of one parameter, checked against its domain.
    ///
    /// # Errors
    /// [`BuildError::WrongType`], [`BuildError::OutOfRange`], [`BuildError::UnknownChoice`].
    pub fn read<T: Field>(&self, spec: &ParamSpec) -> Result<T, BuildError> {
        let value = self.values.get(spec.name).cloned().unwrap_or_else(|| spec.domain.default.into());
        T::read(self.algorithm, spec, &value)
    }

    /// An error about values that contradict each other.
    pub fn conflict<T>(&self, message: impl Into<String>) -> Result<T, BuildError> {
        Err(BuildError::Conflict { algorithm: self.algorithm, message: message.into() })
    }
}

/// A type that a parameter may have.
pub trait Field: Sized {
    /// Reads a value that a user or a preset gave.
    ///
    /// # Errors
    /// As [`Settings::read`].
    fn read(algorithm: &'static str, spec: &ParamSpec, value: &Value) -> Result<Self, BuildError>;
}

impl Field for f64 {
    fn read(algorithm: &'static str, spec: &ParamSpec, value: &Value) -> Result<Self, BuildError> {
        let Value::Num(x) = *value else {
            let expected = "a number".to_owned();
            return Err(BuildError::WrongType { algorithm, parameter: spec.name, value: value.clone(), expected });
        };
        let Domain { min, max, unit, .. } = spec.domain;
        if (min..=max).contains(&x) {
            Ok(x)
        } else {
            Err(BuildError::OutOfRange { algorithm, parameter: spec.name, value: x, min, max, unit })
        }
    }
}

impl Field for bool {
    fn read(algorithm: &'static str, spec: &ParamSpec, value: &Value) -> Result<Self, BuildError> {
        match value {
            Value::Bool(x) => Ok(*x),
            other => Err(BuildError::WrongType {
                algorithm,
                parameter: spec.name,
                value: other.clone(),
                expected: "true or false".to_owned(),
            }),
        }
    }
}

/// Reads a word and gives its place among the parameter's choices; for [`choices!`](crate::param).
pub(crate) fn read_choice(algorithm: &'static str, spec: &ParamSpec, value: &Value) -> Result<usize, BuildError> {
    let Value::Text(word) = value else {
        let expected = format!("one of {}", spec.domain.choices.join(", "));
        return Err(BuildError::WrongType { algorithm, parameter: spec.name, value: value.clone(), expected });
    };
    spec.domain.choices.iter().position(|c| c == word).ok_or_else(|| BuildError::UnknownChoice {
        algorithm,
        parameter: spec.name,
        value: word.clone(),
        allowed: spec.domain.choices.to_vec(),
    })
}

/// Declares an enum whose variants are the words of a parameter.
macro_rules! choices {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$vmeta:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$vmeta])* $variant),+ }

        impl $name {
            /// The words, in the order of the variants.
            pub const WORDS: &'static [&'static str] = &[$($word),+];
            const VARIANTS: &'static [$name] = &[$($name::$variant),+];
        }

        impl $crate::param::Field for $name {
            fn read(
                algorithm: &'static str,
                spec: &$crate::param::ParamSpec,
                value: &$crate::param::Value,
            ) -> Result<Self, $crate::param::BuildError> {
                $crate::param::read_choice(algorithm, spec, value).map(|at| Self::VARIANTS[at])
            }
        }
    };
}

/// Declares a parameter struct: `/// doc`, then `name: type = domain, "source";`.
macro_rules! params {
    ($(#[$meta:meta])* pub struct $name:ident {
        $($(#[doc = $doc:literal])+ $field:ident : $ty:ty = $domain:expr, $source:literal;)+
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name { $($(#[doc = $doc])+ pub $field: $ty),+ }

        impl $name {
            /// Every parameter with its default, limits, unit, source and meaning.
            pub const TABLE: &'static [$crate::param::ParamSpec] = &[$($crate::param::ParamSpec {
                name: stringify!($field),
                domain: $domain,
                source: $source,
                doc: concat!($($doc),+).trim_ascii(),
            }),+];

            /// Reads the values that an algorithm is built with.
            ///
            /// # Errors
            /// As [`Settings::read`](crate::param::Settings::read).
            pub fn read(settings: &$crate::param::Settings) -> Result<Self, $crate::param::BuildError> {
                let mut specs = Self::TABLE.iter();
                $(let $field: $ty = match specs.next() {
                    Some(spec) => settings.read(spec)?,
                    None => unreachable!("the table has one row a field"),
                };)+
                Ok(Self { $($field),+ })
            }
        }
    };
}

pub(crate) use {choices, params};
