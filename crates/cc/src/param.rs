//! Parameters as data: an algorithm or a queue discipline declares each of its parameters once, with type, range, unit,
//! default, source and meaning.
//!
//! [`params!`](crate::params) turns such a declaration into a struct, a constant table for the documentation, and a
//! function that reads and checks a user's values. [`Parameter::check`] is the only check of a value.

use std::collections::BTreeMap;
use std::fmt;

use crate::observe::Variable;
pub use crate::unit::Unit;
use crate::words::hint;

/// A user's value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number in the parameter's unit; a duration in ps.
    Num(f64),
    /// On or off.
    Bool(bool),
    /// One of the parameter's words.
    Text(String),
    /// A number of packets, of bytes, or both.
    Amount(Amount),
}

/// A number of packets, of bytes, or both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Packets.
    pub packets: Option<u64>,
    /// Bytes.
    pub bytes: Option<u64>,
}

/// A value in a constant table: a default, or a preset's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Setting {
    /// A number; a duration in ps.
    Num(f64),
    /// On or off.
    Bool(bool),
    /// One of the parameter's words.
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

/// Type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// A number.
    Number,
    /// A whole number.
    Integer,
    /// On or off.
    Switch,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A time, which a user writes with its unit. A time is stored as a float in ps, which is exact up to 2.5 hours.
    Duration,
    /// A queue length in packets.
    Packets,
    /// A queue length in packets or in bytes.
    Amount,
    /// A rate in bit/s, which a user writes with its unit.
    Rate,
    /// A number of bytes, which a user writes with its unit.
    Size,
}

impl Type {
    /// Name of the type in lists.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Type::Number => "number",
            Type::Integer => "integer",
            Type::Switch => "switch",
            Type::Word(_) => "word",
            Type::Duration => "duration",
            Type::Packets => "packets",
            Type::Amount => "amount",
            Type::Rate => "rate",
            Type::Size => "size",
        }
    }

    /// An example of a value, for messages.
    fn example(self) -> String {
        match self {
            Type::Number | Type::Integer => "1".to_owned(),
            Type::Switch => "true".to_owned(),
            Type::Word(words) => format!("\"{}\"", words.first().unwrap_or(&"")),
            Type::Duration => "\"5 ms\"".to_owned(),
            Type::Packets | Type::Amount => "\"20 packets\"".to_owned(),
            Type::Rate => "\"10 Mbit/s\"".to_owned(),
            Type::Size => "\"100 kB\"".to_owned(),
        }
    }
}

/// Default of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Default {
    /// The value that applies unless a preset or the user sets another value.
    Value(Setting),
    /// No default: the user must give a value.
    Required,
    /// A value computed from the link by a formula, which is given in words.
    Derived(&'static str),
}

impl Default {
    /// True if this is the value that applies by default.
    #[must_use]
    pub fn is(&self, value: &Value) -> bool {
        matches!(self, Self::Value(setting) if Value::from(*setting) == *value)
    }
}

/// Type, range, unit and default of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Domain {
    /// Type.
    pub kind: Type,
    /// Default.
    pub default: Default,
    /// Smallest value allowed: a number, or a duration in ps.
    pub min: f64,
    /// Largest value allowed.
    pub max: f64,
    /// Unit.
    pub unit: Unit,
}

/// One nanosecond in picoseconds, for the declaration of durations; [`US`], [`MS`] and [`S`] are a microsecond, a
/// millisecond and a second.
pub const NS: f64 = 1e3;
/// See [`NS`].
pub const US: f64 = 1e6;
/// See [`NS`].
pub const MS: f64 = 1e9;
/// See [`NS`].
pub const S: f64 = 1e12;

/// Declares a number between `min` and `max`, both allowed.
#[must_use]
pub const fn num(default: f64, min: f64, max: f64, unit: Unit) -> Domain {
    Domain { kind: Type::Number, default: Default::Value(Setting::Num(default)), min, max, unit }
}

/// Declares a whole number between `min` and `max`, both allowed.
#[must_use]
pub const fn int(default: f64, min: f64, max: f64, unit: Unit) -> Domain {
    Domain { kind: Type::Integer, ..num(default, min, max, unit) }
}

/// Declares a duration between `min` and `max`, both allowed, all in ps.
#[must_use]
pub const fn duration(default: f64, min: f64, max: f64) -> Domain {
    Domain { kind: Type::Duration, ..num(default, min, max, Unit::Seconds) }
}

/// Declares a switch.
#[must_use]
pub const fn flag(default: bool) -> Domain {
    let default = Default::Value(Setting::Bool(default));
    Domain { kind: Type::Switch, default, min: 0.0, max: 1.0, unit: Unit::None }
}

/// Declares a choice between words.
#[must_use]
pub const fn choice(default: &'static str, words: &'static [&'static str]) -> Domain {
    let default = Default::Value(Setting::Text(default));
    Domain { kind: Type::Word(words), default, min: 0.0, max: 0.0, unit: Unit::None }
}

/// Declares a number of type `kind`, whose default is computed from the link by `formula`, in words.
#[must_use]
pub const fn derived(kind: Type, formula: &'static str, min: f64, max: f64, unit: Unit) -> Domain {
    Domain { kind, default: Default::Derived(formula), min, max, unit }
}

/// Declares an amount between `min` and `max` packets or bytes, without a default.
#[must_use]
pub const fn required_amount(min: f64, max: f64) -> Domain {
    Domain { kind: Type::Amount, default: Default::Required, min, max, unit: Unit::PacketsOrBytes }
}

/// Declares a rate between `min` and `max` bit/s, without a default.
#[must_use]
pub const fn required_rate(min: f64, max: f64) -> Domain {
    Domain { kind: Type::Rate, default: Default::Required, min, max, unit: Unit::BitsPerSecond }
}

/// Declares a size between `min` and `max` bytes, without a default.
#[must_use]
pub const fn required_size(min: f64, max: f64) -> Domain {
    Domain { kind: Type::Size, default: Default::Required, min, max, unit: Unit::Bytes }
}

/// Declaration of one parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// Name, as a user writes it.
    pub name: &'static str,
    /// Type, range, unit and default.
    pub domain: Domain,
    /// Source of the default: paper or RFC with section, or code.
    pub source: &'static str,
    /// Meaning.
    pub doc: &'static str,
}

/// Named values of some parameters. If the sources of an algorithm disagree, each source is a preset.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Preset {
    /// Preset's name after the colon; empty for the algorithm's own name.
    pub name: &'static str,
    /// Source that the preset follows.
    pub title: &'static str,
    /// The parameters that the preset changes.
    pub overrides: &'static [(&'static str, Setting)],
}

impl Preset {
    /// Declares a preset that changes these parameters: [`value`]s, [`word`]s and [`switch`]es.
    #[must_use]
    pub const fn new(name: &'static str, title: &'static str, overrides: &'static [(&'static str, Setting)]) -> Self {
        Self { name, title, overrides }
    }
}

/// Sets a number, in a preset.
#[must_use]
pub const fn value(parameter: &'static str, value: f64) -> (&'static str, Setting) {
    (parameter, Setting::Num(value))
}

/// Sets a word, in a preset.
#[must_use]
pub const fn word(parameter: &'static str, word: &'static str) -> (&'static str, Setting) {
    (parameter, Setting::Text(word))
}

/// Sets a switch, in a preset.
#[must_use]
pub const fn switch(parameter: &'static str, on: bool) -> (&'static str, Setting) {
    (parameter, Setting::Bool(on))
}

/// Signal that drives an algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Losses (and ECN marks) only.
    Loss,
    /// Mainly queueing delay; losses are the exception.
    Delay,
    /// Both.
    Hybrid,
    /// A model of the path: its bandwidth and delay, or the utility of a rate there.
    Model,
    /// Feedback of routers of the algorithm's own kind.
    Router,
}

impl Kind {
    /// Name of the kind in lists.
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

/// Description of an algorithm in the registry.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Name, as a user writes it.
    pub name: &'static str,
    /// Full name.
    pub title: &'static str,
    /// Signal that drives the algorithm.
    pub kind: Kind,
    /// Signals that the algorithm needs from the endpoint.
    pub signals: &'static [&'static str],
    /// Paper or RFC.
    pub source: &'static str,
    /// Description in one paragraph: the idea, and the differences of the default from the sources.
    pub doc: &'static str,
    /// Presets; the first preset is the algorithm without a suffix.
    pub presets: &'static [Preset],
    /// The parameter tables: the algorithm's own, then those it shares.
    pub tables: &'static [&'static [Parameter]],
    /// The tables of internal variables: the algorithm's own, then those of its components, in their order.
    pub variables: &'static [&'static [Variable]],
}

impl Entry {
    /// Every parameter, with the defaults of the algorithm without a suffix.
    #[must_use]
    pub fn parameters(&self) -> Vec<Parameter> {
        let mut all: Vec<Parameter> = self.tables.iter().flat_map(|table| table.iter().copied()).collect();
        let Some(base) = self.presets.first() else { return all };
        for (name, setting) in base.overrides {
            for spec in all.iter_mut().filter(|spec| spec.name == *name) {
                spec.domain.default = Default::Value(*setting);
            }
        }
        all
    }

    /// Every internal variable, in the order in which the algorithm gives them.
    pub fn variables(&self) -> impl Iterator<Item = &'static Variable> + use<> {
        self.variables.iter().copied().flatten()
    }
}

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

/// Formats a number without rounding noise in its last digits.
fn shown(x: f64) -> String {
    match x.abs() {
        _ if x.is_nan() => "nan".to_owned(),
        size if size.is_finite() && size != 0.0 && !(1e-4..1e9).contains(&size) => format!("{x:e}"),
        _ => format!("{x}"),
    }
}

/// A duration in its largest unit.
fn shown_time(ps: f64) -> String {
    let units = [(S, "s"), (MS, "ms"), (US, "us"), (NS, "ns"), (1.0, "ps")];
    let (size, unit) = units.into_iter().find(|(size, _)| ps >= *size).unwrap_or((1.0, "ps"));
    format!("{} {unit}", ps / size)
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Num(x) => f.write_str(&shown(*x)),
            Value::Bool(x) => write!(f, "{x}"),
            Value::Text(x) => write!(f, "'{x}'"),
            Value::Amount(Amount { packets: Some(packets), .. }) => write!(f, "{packets} packets"),
            Value::Amount(Amount { bytes, .. }) => write!(f, "{} B", bytes.unwrap_or(0)),
        }
    }
}

impl Domain {
    /// Formats a number of this domain; only a duration or a number of packets is followed by its unit.
    fn shown(&self, x: f64) -> String {
        match self.kind {
            Type::Duration => shown_time(x),
            Type::Packets => format!("{} packets", shown(x)),
            _ => shown(x),
        }
    }

    /// The range, in words.
    fn range(&self) -> String {
        let (low, high) = (self.min, self.max);
        match self.kind {
            Type::Duration => format!("from {} to {}", shown_time(low), shown_time(high)),
            _ => format!("from {} to {} {}", shown(low), shown(high), self.unit.as_str()).trim_end().to_owned(),
        }
    }
}

impl Parameter {
    /// Checks the type of a value of the parameter, and that the value is within the range or is an allowed word. An
    /// error names `owner`.
    ///
    /// # Errors
    /// [`BuildError::WrongType`], [`BuildError::OutOfRange`], [`BuildError::UnknownWord`].
    pub fn check(&self, owner: &str, value: &Value) -> Result<(), BuildError> {
        let problem = |message| self.problem(owner, message);
        let domain = &self.domain;
        let inside = |x: f64| {
            let allowed = (domain.min..=domain.max).contains(&x);
            let message = || format!("{} is not allowed; it must be {}", domain.shown(x), domain.range());
            if allowed { Ok(()) } else { Err(BuildError::OutOfRange(problem(message()))) }
        };
        let wrong = |what: &str| Err(BuildError::WrongType(problem(format!("{value} {what}"))));
        match (domain.kind, value) {
            (Type::Number | Type::Packets, Value::Num(x)) => inside(*x),
            (Type::Integer | Type::Duration | Type::Rate | Type::Size, Value::Num(x))
                if x.fract() == 0.0 || !x.is_finite() =>
            {
                inside(*x)
            }
            (Type::Integer, Value::Num(_)) => wrong("is not a whole number"),
            (Type::Rate, Value::Num(_)) => wrong("is not a whole number of bit/s"),
            (Type::Size, Value::Num(_)) => wrong("is not a whole number of bytes"),
            (Type::Duration, Value::Num(_)) => wrong("is not a whole number of ps"),
            (Type::Switch, Value::Bool(_)) => Ok(()),
            (Type::Word(words), Value::Text(word)) if words.contains(&word.as_str()) => Ok(()),
            (Type::Word(words), other) => {
                let word = other.to_string();
                let allowed = hint(word.trim_matches('\''), words);
                Err(BuildError::UnknownWord(problem(format!("{other} is not one of its values; {allowed}"))))
            }
            (Type::Amount, Value::Amount(amount)) if *amount != Amount::default() => {
                let given = [amount.packets, amount.bytes].into_iter().flatten();
                match given.map(|n| n as f64).find(|n| !(domain.min..=domain.max).contains(n)) {
                    Some(_) => {
                        let message = format!("{value} is not allowed; it must be {}", domain.range());
                        Err(BuildError::OutOfRange(problem(message)))
                    }
                    None => Ok(()),
                }
            }
            (Type::Number | Type::Integer, _) => wrong("is not a number"),
            (Type::Duration, _) => wrong("is not a duration"),
            (Type::Rate, _) => wrong("is not a rate; write for example \"10 Mbit/s\""),
            (Type::Size, _) => wrong("is not a size; write for example \"100 kB\""),
            (Type::Switch, _) => wrong("is neither true nor false"),
            (Type::Packets, _) => wrong("is not in packets; write for example \"30 packets\""),
            (Type::Amount, _) => wrong("is not an amount; write for example \"20 packets\""),
        }
    }

    fn problem(&self, owner: &str, message: String) -> Problem {
        Problem { owner: owner.to_owned(), parameter: Some(self.name.to_owned()), message }
    }
}

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

/// Declares enums whose variants are the words of a parameter. The comment before an enum defines each word.
macro_rules! choices {
    ($($(#[$meta:meta])* pub enum $name:ident { $($variant:ident = $word:literal),+ $(,)? })+) => {$(
        $(#[$meta])*
        #[allow(missing_docs)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($variant),+ }

        impl $name {
            /// The words, in the order of the variants.
            pub const WORDS: &'static [&'static str] = &[$($word),+];
            const VARIANTS: &'static [$name] = &[$($name::$variant),+];
        }

        impl $crate::param::Field for $name {
            fn of(parameter: &$crate::param::Parameter, value: &$crate::param::Value) -> Option<Self> {
                $crate::param::place_of_word(parameter, value).map(|at| Self::VARIANTS[at])
            }
        }
    )+};
}

/// Declares a parameter struct; a field is `/// doc`, then `name: type = domain, "source";`. Within a domain, `Unit`
/// needs no module path.
#[macro_export]
macro_rules! params {
    ($(#[$meta:meta])* pub struct $name:ident {
        $($(#[doc = $doc:literal])+ $field:ident : $ty:ty = $domain:expr, $source:literal;)+
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name { $($(#[doc = $doc])+ pub $field: $ty),+ }

        impl $name {
            /// Every parameter with its type, range, unit, default, source and meaning.
            pub const TABLE: &'static [$crate::param::Parameter] = {
                #[allow(unused_imports)]
                use $crate::param::Unit;
                &[$($crate::param::Parameter {
                    name: stringify!($field),
                    domain: $domain,
                    source: $source,
                    doc: concat!($($doc),+).trim_ascii(),
                }),+]
            };

            /// Reads the values for an algorithm or a queue.
            ///
            /// # Errors
            /// The errors of `Settings::read`.
            pub fn read(settings: &$crate::param::Settings) -> Result<Self, $crate::param::BuildError> {
                let [$($field),+] = Self::TABLE else { unreachable!("the table has one row a field") };
                Ok(Self { $($field: settings.read($field)?),+ })
            }
        }
    };
}

pub(crate) use {choices, params};

#[cfg(test)]
mod tests;
