//! Parameters as data: an algorithm or a queue discipline declares each of its parameters once, with type, range, unit,
//! default, source and meaning.
//!
//! [`params!`](crate::params) turns such a declaration into a struct, a constant table for the documentation, and a
//! function that reads and checks a user's values. [`Parameter::check`] is the only check of a value.

mod domain;
mod entry;
mod error;
mod settings;
mod value;

pub use self::domain::{
    Default, Domain, Parameter, Type, choice, derived, duration, flag, int, num, required_amount, required_rate,
    required_size, text,
};
pub use self::entry::{Entry, Kind, Preset, switch, value, word};
pub use self::error::{BuildError, Problem};
pub use self::settings::{Field, Settings, place_of_word};
pub use self::value::{Amount, MS, NS, S, Setting, US, Value};
pub use crate::unit::Unit;

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
