//! Interface between an endpoint and an algorithm: ACKs and events go in, and a window, a threshold and a pacing rate come
//! out.
//!
//! Units are those of the papers: windows in segments, time in seconds, rates in segments per second. Nothing here
//! depends on the simulator, so the same types can drive a real transport.

use std::any::Any;

use crate::ack::Ack;
use crate::draws::Draws;
use crate::event::Event;
use crate::observe::Observe;
use crate::param::{BuildError, Parameter, Settings};
use crate::router::{Request, Router};

/// Use of explicit congestion notification by the algorithm itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// The endpoint's setting: no ECN, or RFC 3168's ECN with one [`Cause::Ecn`](crate::Cause::Ecn) a round trip.
    #[default]
    Endpoint,
    /// ECT(0) and a count of marks with every ACK ([`Ack::marked`]); no [`Cause::Ecn`](crate::Cause::Ecn) (RFC 8257).
    Accurate,
    /// ECT(1) and a count of marks with every ACK (RFC 9331).
    L4s,
}

/// Signals that an algorithm needs besides ACKs, losses and timeouts. The endpoint computes only the signals that are
/// set; the others cost nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// [`Ack::window_at_send`].
    pub window_at_send: bool,
    /// [`Ack::owd`].
    pub one_way_delay: bool,
    /// [`Ack::delivery`].
    pub delivery: bool,
    /// [`Event::Lost`].
    pub losses: bool,
    /// [`Event::Sent`].
    pub sends: bool,
    /// [`Algorithm::pacing_rate`].
    pub pacing: bool,
    /// The algorithm's window also applies during recovery, in place of the endpoint's recovery rule (Linux
    /// `cong_control`).
    pub own_recovery: bool,
    /// [`linux::Event::Restart`](crate::linux::Event::Restart).
    pub restarts: bool,
    /// [`linux::Event::IdleTimeouts`](crate::linux::Event::IdleTimeouts) of a Linux host, in place of [`Event::Idle`].
    pub idle_timeouts: bool,
    /// While [`Algorithm::pacing_rate`] is `None`, the host paces as it does for algorithms that do not pace.
    pub shares_pacing: bool,
    /// Use of ECN.
    pub ecn: Ecn,
    /// Kind of router that the algorithm needs: [`Algorithm::request`], [`Ack::answer`].
    pub router: Option<Router>,
    /// [`Start::hz`](crate::Start::hz).
    pub hz: bool,
    /// A new round begins when a recovery ends, even if the last round has not ended, as in Linux's `tcp_vegas_state`
    /// ([`Ack::round_start`]).
    pub rounds_restart: bool,
    /// [`Algorithm::takes_reduction`].
    pub reductions: bool,
    /// The threshold may fall during a recovery, and the target of the endpoint's recovery rule follows it.
    pub falling_targets: bool,
    /// [`Delivery::app_limited`](crate::Delivery::app_limited) is also true while only the receiver's window limits the sender.
    pub receiver_limits: bool,
    /// The RTT of every ACK, and not only those of some: filters of delays would take others for the mean.
    pub every_rtt: bool,
    /// Each ACK, and not only what several acknowledge together: the window moves with the number of ACKs, or by the smallest
    /// RTT of few segments.
    pub every_ack: bool,
    /// Largest bursts of a Linux host's segmentation offload, as their number in a second at the pacing rate, in place of
    /// `tcp_tso_autosize`.
    pub bursts_per_s: Option<u16>,
    /// No TCP of a host has the algorithm: it is another transport's, or serves experiments. No capture shows its sender.
    pub unhosted: bool,
}

/// Trains of segments that an algorithm may have, in a run whose packets may stand for several segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trains {
    /// Each segment may matter to it.
    #[default]
    None,
    /// The bursts of a host's segmentation offload, whose segments leave together in any case.
    Bursts,
    /// Segments that wait for each other too, with each of their ACKs.
    Each,
    /// Segments that wait for each other too.
    Any,
}

impl Trains {
    /// The name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Bursts => "bursts",
            Self::Each => "each",
            Self::Any => "any",
        }
    }
}

impl Needs {
    /// Trains that leave the algorithm what it needs. An algorithm whose pace follows its window, and not delivery rates, needs
    /// each ACK: in the bursts of a host, Copa has half of its goodput, and Prague 1.3 times its share beside CUBIC.
    #[must_use]
    pub const fn trains(&self) -> Trains {
        let paces_by_window = self.pacing && !self.delivery;
        let each = self.window_at_send || self.one_way_delay || self.sends || self.every_rtt;
        if each || paces_by_window || self.router.is_some() {
            Trains::None
        } else if self.delivery || self.losses {
            Trains::Bursts
        } else if self.every_ack {
            Trains::Each
        } else {
            Trains::Any
        }
    }

    /// True if the endpoint must fill in a field of [`Ack`] that is otherwise empty.
    #[must_use]
    #[inline]
    pub const fn with_acks(&self) -> bool {
        self.window_at_send || self.one_way_delay || self.delivery || self.router.is_some()
    }
}

/// A congestion control algorithm. The endpoint sends while its estimate of the segments in flight is below
/// [`Algorithm::window`]. In fast recovery the endpoint's recovery rule (PRR, rate halving, RFC 6675) determines the
/// transition from the old window to the new window.
///
/// [`Observe`] reports the algorithm's internal variables. An algorithm without internal variables implements the trait
/// with an empty body.
pub trait Algorithm: Observe {
    /// Handles an ACK that delivers new data.
    fn on_ack(&mut self, ack: &Ack);
    /// Handles an event other than an ACK. A wrapper forwards every event to the algorithm in it.
    fn on_event(&mut self, event: &Event);
    /// Congestion window, segments. The endpoint sends whole segments, so it rounds the window down.
    fn window(&self) -> f64;
    /// Slow start threshold, segments; infinite before the first loss.
    fn ssthresh(&self) -> f64;
    /// Pacing rate, segments/s; `None` without pacing. Segments leave one by one at this rate, as far as the window
    /// allows. The endpoint reads the pacing rate after every ACK and event; only with [`Needs::pacing`].
    fn pacing_rate(&self) -> Option<f64> {
        None
    }
    /// Needs of the algorithm, which never change.
    #[inline]
    fn needs(&self) -> Needs {
        Needs::default()
    }
    /// Smallest window during a recovery by rate halving, segments. Most modules of Linux 2.6 let the window fall to
    /// half of the target (`min_cwnd`). The recovery then ends at the target if half of the flight was lost.
    fn recovery_floor(&self) -> f64 {
        self.ssthresh()
    }
    /// True once after the algorithm has decided on an ACK to reduce its window although no segment was lost or marked.
    /// The endpoint then begins a recovery as after an ECN echo (Linux's `tcp_enter_cwr`), and reports
    /// [`Event::Congestion`] with [`Cause::Ecn`](crate::Cause::Ecn); only with [`Needs::reductions`].
    fn takes_reduction(&mut self) -> bool {
        false
    }
    /// Random numbers of an algorithm that draws some. A replay of a capture replaces them, since those of the captured
    /// sender are unknown.
    fn draws(&mut self) -> Option<&mut Draws> {
        None
    }
    /// Congestion header of a segment that is about to leave. `limited` is true if the window, and not the application
    /// or the receiver, ended the last transmission. Only with [`Router::Xcp`].
    fn request(&mut self, _limited: bool) -> Request {
        Request::default()
    }
    /// A copy with the same state, for transports that move connections between paths and for sources of transfers;
    /// `None` if the algorithm cannot be copied. Algorithms of the registry are `Clone` and do not need this method.
    fn clone_boxed(&self) -> Option<Box<dyn Algorithm + Send>> {
        None
    }
    /// The algorithm as its own type, for an owner that controls it between the endpoint's calls, such as that of
    /// [`Steered`](crate::steering::Steered). A wrapper returns the algorithm in it.
    fn as_any(&mut self) -> Option<&mut dyn Any> {
        None
    }
}

/// An algorithm with parameters, in a file of its user; an algorithm of the registry has an [`Entry`](crate::Entry).
///
/// ```
/// use elephan_cc::param::{BuildError, Parameter, Settings, num};
///
/// elephan_cc::params! {
///     /// Parameters.
///     pub struct Parameters {
///         /// Growth in a round trip.
///         growth: f64 = num(1.0, 0.01, 100.0, Unit::Segments), "mine";
///     }
/// }
/// assert_eq!(Parameters::TABLE[0].name, "growth");
/// ```
pub trait Tunable: Algorithm + Sized {
    /// The parameters, by which a user's values are checked.
    const PARAMETERS: &'static [Parameter];

    /// An algorithm with checked values.
    ///
    /// # Errors
    /// Values that contradict each other: [`Settings::conflict`].
    fn tuned(settings: &Settings) -> Result<Self, BuildError>;
}
