//! Values of parameters, and how messages show them.

use std::fmt;

/// One nanosecond in picoseconds, for the declaration of durations; [`US`], [`MS`] and [`S`] are a microsecond, a
/// millisecond and a second.
pub const NS: f64 = 1e3;
/// See [`NS`].
pub const US: f64 = 1e6;
/// See [`NS`].
pub const MS: f64 = 1e9;
/// See [`NS`].
pub const S: f64 = 1e12;

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

/// Formats a number without rounding noise in its last digits.
pub(super) fn shown(x: f64) -> String {
    match x.abs() {
        _ if x.is_nan() => "nan".to_owned(),
        size if size.is_finite() && size != 0.0 && !(1e-4..1e9).contains(&size) => format!("{x:e}"),
        _ => format!("{x}"),
    }
}

/// A duration in its largest unit.
pub(super) fn shown_time(ps: f64) -> String {
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
