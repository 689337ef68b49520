//! Internal variables of algorithms, such as CUBIC's K or the state of BBR, for observers.
//!
//! `observed!` declares each variable once, with its unit, its definition and the expression of its value. A time is in
//! seconds, and its name ends in `_s`. An unknown value is NaN or infinite.

use crate::unit::Unit;

/// Declaration of an internal variable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variable {
    /// Name.
    pub name: &'static str,
    /// Kind of the variable's values.
    pub form: Form,
    /// Definition.
    pub doc: &'static str,
}

/// Kind of the values of a variable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Form {
    /// A number in a unit.
    Number(Unit),
    /// A state given by its position in this list of names, from 0.
    State(&'static [&'static str]),
}

/// Callback that takes the name and the value of each variable.
pub type Observer<'a> = dyn FnMut(&str, f64) + 'a;

/// A type with internal variables.
pub trait Observe {
    /// Passes each variable to `observer`: always the same variables, in the same order.
    fn observe(&self, observer: &mut Observer<'_>) {
        let _ = observer;
    }
}

/// Declares a number in `unit`.
#[must_use]
pub const fn number(unit: Unit) -> Form {
    Form::Number(unit)
}

/// Declares a number without a unit: a ratio, a count, or 1 for yes and 0 for no.
#[must_use]
pub const fn plain() -> Form {
    Form::Number(Unit::None)
}

/// Declares a state out of `names`.
#[must_use]
pub const fn state(names: &'static [&'static str]) -> Form {
    Form::State(names)
}

/// Declares the internal variables of a type, each as `/// definition`, then `name = value, form;`. The variables of
/// the components listed after the type (`self.win`) follow the type's own variables.
macro_rules! observed {
    ($this:ident: $owner:ty $(, $part:expr)*; $($(#[doc = $doc:literal])+ $name:ident = $value:expr, $form:expr;)*) => {
        impl $owner {
            /// Internal variables of the type, without those of its components.
            pub const VARIABLES: &'static [$crate::observe::Variable] = {
                #[allow(unused_imports)]
                use $crate::{observe::{number, plain, state}, unit::Unit};
                &[$($crate::observe::Variable {
                    name: stringify!($name),
                    form: $form,
                    doc: concat!($($doc),+).trim_ascii(),
                }),*]
            };
        }

        impl $crate::observe::Observe for $owner {
            fn observe(&$this, observer: &mut $crate::observe::Observer<'_>) {
                $(observer(stringify!($name), f64::from($value));)*
                $($part.observe(observer);)*
            }
        }
    };
}

/// Declares an enum of states with their names.
macro_rules! states {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($(#[$vmeta:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $name { $($(#[$vmeta])* $variant),+ }

        impl $name {
            /// Names of the states, in the order of the variants.
            $vis const NAMES: &'static [&'static str] = &[$($word),+];
        }

        impl From<$name> for f64 {
            fn from(state: $name) -> f64 {
                f64::from(state as u8)
            }
        }
    };
}

pub(crate) use {observed, states};
