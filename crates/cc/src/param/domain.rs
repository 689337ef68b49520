//! Declarations of parameters, and the check of a value.

use super::error::{BuildError, Problem};
use super::value::{Amount, Setting, Value, shown, shown_time};
use crate::unit::Unit;
use crate::words::hint;

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
    /// A text in a form of its own, such as a formula; its limit is a number of characters. A number is a text too.
    Text,
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
            Type::Text => "text",
        }
    }

    /// An example of a value, for messages.
    pub(super) fn example(self) -> String {
        match self {
            Type::Number | Type::Integer => "1".to_owned(),
            Type::Switch => "true".to_owned(),
            Type::Word(words) => format!("\"{}\"", words.first().unwrap_or(&"")),
            Type::Duration => "\"5 ms\"".to_owned(),
            Type::Packets | Type::Amount => "\"20 packets\"".to_owned(),
            Type::Rate => "\"10 Mbit/s\"".to_owned(),
            Type::Size => "\"100 kB\"".to_owned(),
            Type::Text => "\"…\"".to_owned(),
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

/// Declares a text of at most `most` characters, whose value has this unit.
#[must_use]
pub const fn text(default: &'static str, most: f64, unit: Unit) -> Domain {
    Domain { kind: Type::Text, default: Default::Value(Setting::Text(default)), min: 0.0, max: most, unit }
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
            (Type::Text, Value::Text(text)) if text.len() as f64 <= domain.max => Ok(()),
            (Type::Text, Value::Text(text)) => {
                let message = format!("has {} characters; at most {} are allowed", text.len(), shown(domain.max));
                Err(BuildError::OutOfRange(problem(message)))
            }
            (Type::Text, Value::Num(_)) => Ok(()),
            (Type::Text, _) => wrong("is not a text"),
            (Type::Number | Type::Integer, _) => wrong("is not a number"),
            (Type::Duration, _) => wrong("is not a duration"),
            (Type::Rate, _) => wrong("is not a rate; write for example \"10 Mbit/s\""),
            (Type::Size, _) => wrong("is not a size; write for example \"100 kB\""),
            (Type::Switch, _) => wrong("is neither true nor false"),
            (Type::Packets, _) => wrong("is not in packets; write for example \"30 packets\""),
            (Type::Amount, _) => wrong("is not an amount; write for example \"20 packets\""),
        }
    }

    pub(super) fn problem(&self, owner: &str, message: String) -> Problem {
        Problem { owner: owner.to_owned(), parameter: Some(self.name.to_owned()), message }
    }
}
