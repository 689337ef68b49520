//! Details of an event as a list, for wrappers that pass on events whose variants they do not name.

use crate::ack::Ack;
use crate::linux::reports::Restart;
use crate::reports::{Lost, Sent, Signal, Start};

/// Detail of an event.
#[derive(Clone, Copy, Debug)]
pub enum Detail<'a> {
    /// A time in s, or a window in segments.
    Number(f64),
    /// A count.
    Count(u32),
    /// A connection's beginning.
    Start(&'a Start),
    /// An ACK.
    Ack(&'a Ack),
    /// A congestion signal or a timeout.
    Signal(&'a Signal),
    /// A segment sent.
    Sent(&'a Sent),
    /// A segment lost.
    Lost(&'a Lost),
    /// A segment sent while none is in flight, on Linux.
    Restart(&'a Restart),
}

impl Detail<'_> {
    /// Time of the event, s, if this is its time; `name` is that of the detail.
    #[must_use]
    pub fn time(self, name: &str) -> Option<f64> {
        match self {
            Self::Number(now) => (name == "now").then_some(now),
            Self::Count(_) => None,
            Self::Start(start) => Some(start.now),
            Self::Ack(ack) => Some(ack.now),
            Self::Signal(signal) => Some(signal.now),
            Self::Sent(sent) => Some(sent.now),
            Self::Lost(lost) => Some(lost.now),
            Self::Restart(restart) => Some(restart.now),
        }
    }
}

impl From<&f64> for Detail<'_> {
    fn from(number: &f64) -> Self {
        Self::Number(*number)
    }
}

impl From<&u32> for Detail<'_> {
    fn from(count: &u32) -> Self {
        Self::Count(*count)
    }
}

macro_rules! by_reference {
    ($($name:ident),+) => {
        $(impl<'a> From<&'a $name> for Detail<'a> {
            fn from(detail: &'a $name) -> Self {
                Self::$name(detail)
            }
        })+
    };
}

by_reference!(Start, Ack, Signal, Sent, Lost, Restart);

/// Form of an event, from which interfaces in other languages are made.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// Name of the event's callback.
    pub callback: &'static str,
    /// Name of the variant.
    pub variant: &'static str,
    /// Details of the event, each with its type: one structure, or numbers.
    pub details: &'static [(&'static str, &'static str)],
}

/// Declares an enum of events: variants around a structure or with fields, each with the name of its callback in an
/// interface that has a method for each event, and last the events of a host, if there are any.
macro_rules! events {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $(
                $(#[doc = $doc:literal])+
                $variant:ident
                $(($whole:ident: $structure:ty))?
                $({ $($(#[doc = $field_doc:literal])+ $field:ident: $ty:ty,)+ })?
                = $callback:literal,
            )+
        }
        $($(#[doc = $host_doc:literal])+ $host:ident($events:ty))?
    ) => {
        $(#[$meta])*
        #[allow(clippy::large_enum_variant, reason = "an event is made where it happens, and passed by reference")]
        #[derive(Clone, Copy, Debug)]
        pub enum $name {
            $(
                $(#[doc = $doc])+
                $variant $(($structure))? $({ $($(#[doc = $field_doc])+ $field: $ty),+ })?,
            )+
            $($(#[doc = $host_doc])+ $host($events),)?
        }

        impl $name {
            /// Forms of all events, without those of a host's own.
            pub const FORMS: &'static [$crate::detail::Form] = &[$($crate::detail::Form {
                callback: $callback,
                variant: stringify!($variant),
                details: &[
                    $((stringify!($whole), stringify!($structure)))?
                    $($((stringify!($field), stringify!($ty))),+)?
                ],
            }),+];

            /// Name of the event's callback.
            #[must_use]
            pub fn callback(&self) -> &'static str {
                match self {
                    $(Self::$variant { .. } => $callback,)+
                    $(Self::$host(event) => { let event: &$events = event; event.callback() })?
                }
            }

            /// Passes on what the event knows, in the order of its declaration, each with its name.
            pub fn details<'a>(&'a self, take: &mut dyn FnMut(&'static str, Detail<'a>)) {
                match self {
                    $(Self::$variant $(($whole))? $({ $($field),+ })? => {
                        $(take(stringify!($whole), $whole.into());)?
                        $($(take(stringify!($field), $field.into());)+)?
                    })+
                    $(Self::$host(event) => { let event: &$events = event; event.details(take) })?
                }
            }
        }
    };
}
pub(crate) use events;
