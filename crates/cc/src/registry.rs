//! List of the algorithms: one line defines an algorithm's variant of [`Controller`], its entry in [`registry`] and its
//! case in [`build`].

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;

use crate::ack::Ack;
use crate::algorithm::{Algorithm, Needs};
use crate::draws::Draws;
use crate::event::Event;
use crate::observe::{Observe, Observer};
use crate::param::{BuildError, Entry, Settings, Value};
use crate::router::Request;
use crate::udt::Udt;

macro_rules! algorithms {
    ($($(#[$where:meta])* $variant:ident = $ty:ty),+ $(,)?) => {
        /// A congestion controller of any algorithm, dispatched without a pointer.
        #[non_exhaustive]
        pub enum Controller {
            $($(#[$where])* #[doc = concat!("[`", stringify!($ty), "`]")] $variant($ty),)+
            /// A user-defined algorithm.
            Custom(Box<dyn Algorithm + Send>),
        }

        const REGISTRY: &[Entry] = &[$($(#[$where])* <$ty>::ENTRY),+];

        fn construct(name: &str, settings: &Settings) -> Option<Result<Controller, BuildError>> {
            $($(#[$where])* if name == <$ty>::ENTRY.name {
                return Some(<$ty>::new(settings).map(Controller::$variant));
            })+
            None
        }

        macro_rules! each {
            ($self:ident, $inner:ident => $call:expr) => {
                match $self { $($(#[$where])* Controller::$variant($inner) => $call,)+ Controller::Custom($inner) => $call }
            };
        }

        /// Passes an ACK to an algorithm that needs only ACKs, and returns the algorithm's reaction. For most
        /// algorithms the test of their needs costs nothing, since the compiler knows the result. The needs of a few
        /// algorithms depend on parameters, so their test runs at each ACK.
        macro_rules! fast_path {
            ($self:ident, $ack:ident) => {
                match $self {
                    $($(#[$where])* Controller::$variant(a) => if !a.needs().with_acks() {
                        // Each algorithm has its own copy of the ACK, so that a copy is written to memory only for an
                        // algorithm whose rules are not inlined.
                        let own = $ack;
                        a.on_ack(&own);
                        return a.window();
                    })+
                    Controller::Custom(_) => {}
                }
            };
        }

        impl Controller {
            /// A copy with the same state; `None` for a user's algorithm that cannot be copied
            /// ([`Algorithm::clone_boxed`]).
            #[must_use]
            pub fn try_clone(&self) -> Option<Self> {
                match self {
                    $($(#[$where])* Controller::$variant(inner) => Some(Controller::$variant(inner.clone())),)+
                    Controller::Custom(inner) => inner.clone_boxed().map(Controller::Custom),
                }
            }
        }

        impl Clone for Controller {
            /// # Panics
            /// If a user's algorithm cannot be copied, which [`Controller::try_clone`] tells.
            fn clone(&self) -> Self {
                self.try_clone().expect("an algorithm that is copied can be")
            }
        }

        impl fmt::Debug for Controller {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $($(#[$where])* Controller::$variant(inner) => inner.fmt(f),)+
                    Controller::Custom(_) => f.write_str("Custom"),
                }
            }
        }
    };
}

algorithms! {
    // Losses.
    Reno = crate::reno::Reno,
    Hstcp = crate::hstcp::Hstcp,
    Stcp = crate::stcp::Stcp,
    Htcp = crate::htcp::Htcp,
    Bic = crate::bic::Bic,
    Cubic = crate::cubic::Cubic,
    Westwood = crate::westwood::Westwood,
    Hybla = crate::hybla::Hybla,
    Ltcp = crate::ltcp::Ltcp,
    // Delay.
    Eefast = crate::eefast::Eefast,
    Fast = crate::fast::Fast,
    Vegas = crate::vegas::Vegas,
    Cdg = crate::cdg::Cdg,
    Nv = crate::nv::Nv,
    Copa = crate::copa::Copa,
    Ledbat = crate::ledbat::Ledbat,
    LedbatPlusPlus = crate::ledbat_plus_plus::LedbatPlusPlus,
    // Both.
    Africa = crate::africa::Africa,
    Areno = crate::areno::Areno,
    Compound = crate::compound::Compound,
    Fusion = crate::fusion::Fusion,
    Illinois = crate::illinois::Illinois,
    Libra = crate::libra::Libra,
    Veno = crate::veno::Veno,
    Yeah = crate::yeah::Yeah,
    Hcc = crate::hcc::Hcc,
    Lp = crate::lp::Lp,
    HstcpLp = crate::lp::HstcpLp,
    // Algorithms with a model of the path, algorithms that respond to marks, and the constant window.
    Bbr = crate::bbr::Bbr,
    Bbr3 = crate::bbr3::Bbr3,
    C4 = crate::c4::C4,
    Vivace = crate::vivace::Vivace,
    Dctcp = crate::dctcp::Dctcp,
    Prague = crate::prague::Prague,
    Fixed = crate::fixed::Fixed,
    // A user's formulas, and a user's network, which the engine of a page lacks, to keep pages small.
    Expression = crate::expression::Expression,
    #[cfg(not(target_arch = "wasm32"))]
    Policy = crate::policy::Policy,
    // Router-assisted.
    Xcp = crate::xcp::Xcp,
    Vcp = crate::vcp::Vcp,
}

/// Algorithms of transports other than TCP; the endpoints of such a transport have their own interface to an algorithm.
const OTHER_TRANSPORTS: &[Entry] = &[Udt::ENTRY];

impl Controller {
    /// Calls [`Algorithm::on_ack`] and returns the new window, with one dispatch. An algorithm that needs only ACKs
    /// gets the ACK unchanged. Short rules are inlined into the endpoint's hot path, so the ACK need not be written to
    /// memory. For the other algorithms, and for user-defined algorithms, `complete` fills in the fields of
    /// [`Needs::with_acks`].
    #[inline(always)]
    pub fn react(&mut self, ack: Ack, complete: impl FnOnce(&mut Ack)) -> f64 {
        fast_path!(self, ack);
        let mut full = ack;
        complete(&mut full);
        self.react_at_length(&full)
    }

    #[inline(never)]
    fn react_at_length(&mut self, ack: &Ack) -> f64 {
        each!(self, a => {
            a.on_ack(ack);
            a.window()
        })
    }
}

impl Observe for Controller {
    fn observe(&self, observer: &mut Observer<'_>) {
        each!(self, a => a.observe(observer));
    }
}

impl Algorithm for Controller {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        each!(self, a => a.on_ack(ack));
    }
    fn on_event(&mut self, event: &Event) {
        each!(self, a => a.on_event(event));
    }
    #[inline]
    fn window(&self) -> f64 {
        each!(self, a => a.window())
    }
    #[inline]
    fn ssthresh(&self) -> f64 {
        each!(self, a => a.ssthresh())
    }
    fn recovery_floor(&self) -> f64 {
        each!(self, a => a.recovery_floor())
    }
    fn takes_reduction(&mut self) -> bool {
        each!(self, a => a.takes_reduction())
    }
    #[inline]
    fn pacing_rate(&self) -> Option<f64> {
        each!(self, a => a.pacing_rate())
    }
    fn needs(&self) -> Needs {
        each!(self, a => a.needs())
    }
    fn draws(&mut self) -> Option<&mut Draws> {
        each!(self, a => a.draws())
    }
    fn request(&mut self, limited: bool) -> Request {
        each!(self, a => a.request(limited))
    }
    fn as_any(&mut self) -> Option<&mut dyn Any> {
        if let Self::Custom(own) = self { own.as_any() } else { None }
    }
}

/// Every algorithm of a TCP endpoint, with its presets and parameters.
#[must_use]
pub fn registry() -> &'static [Entry] {
    REGISTRY
}

/// Every algorithm of transports other than TCP; [`build`] does not build them.
#[must_use]
pub fn other_transports() -> &'static [Entry] {
    OTHER_TRANSPORTS
}

/// Finds `spec`, which is `name` or `name:preset`, among `entries`, and reads its settings from `params`.
///
/// # Errors
/// The errors of [`build`], except [`BuildError::Conflict`] and errors in a value.
fn resolve(
    spec: &str,
    params: &BTreeMap<String, Value>,
    entries: &'static [Entry],
) -> Result<(&'static Entry, Settings), BuildError> {
    let (name, preset) = spec.split_once(':').unwrap_or((spec, ""));
    let Some(entry) = entries.iter().find(|entry| entry.name == name) else {
        let known: Vec<&str> = entries.iter().map(|entry| entry.name).collect();
        return Err(BuildError::unknown_name(name, "an algorithm", &known));
    };
    Ok((entry, Settings::resolve(entry, preset, params)?))
}

/// Builds a controller from `name` or `name:preset`; `params` override the preset, and the preset overrides the
/// defaults.
///
/// # Errors
/// Every kind of [`BuildError`]: unknown names, words and parameters, values outside their limits, and conflicting
/// values.
pub fn build(spec: &str, params: &BTreeMap<String, Value>) -> Result<Controller, BuildError> {
    let (entry, settings) = resolve(spec, params, REGISTRY)?;
    construct(entry.name, &settings).unwrap_or_else(|| unreachable!("'{}' is in the registry", entry.name))
}

/// Builds the rate control of a UDT endpoint; `spec` is `udt` or `udt:preset`.
///
/// # Errors
/// The errors of [`build`].
pub fn build_udt(spec: &str, params: &BTreeMap<String, Value>) -> Result<Udt, BuildError> {
    Udt::new(&resolve(spec, params, OTHER_TRANSPORTS)?.1)
}
