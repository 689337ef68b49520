//! Interface between an endpoint and an algorithm: the events that the algorithm is told, and its answers.
//!
//! Units are the papers': windows in segments, time in seconds, rates in segments per second. Nothing here
//! knows the simulator: the same types can drive a real transport.

use crate::jiffies::DEFAULT_HZ;
use crate::observe::{Observe, states};

/// The connection begins.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// Seconds.
    pub now: f64,
    /// Segments.
    pub initial_window: f64,
    /// Segments; infinite where slow start runs to the first loss.
    pub initial_ssthresh: f64,
    /// Payload of a segment, bytes, for algorithms that count in bits.
    pub segment_bytes: f64,
    /// Timer interrupts a second of the sending host (Linux's `HZ`), for algorithms that count in [jiffies](crate::jiffies).
    pub hz: f64,
    /// Seeds the algorithm's own [`Draws`](crate::draws::Draws), where it needs any.
    pub seed: u64,
    /// RTT of the handshake, s, where it was timed; it is the first sample of the smallest and the smoothed RTT.
    pub rtt: Option<f64>,
}

impl Default for Start {
    fn default() -> Self {
        Self {
            now: 0.0,
            initial_window: 10.0,
            initial_ssthresh: f64::INFINITY,
            segment_bytes: 1448.0,
            hz: DEFAULT_HZ,
            seed: 0,
            rtt: None,
        }
    }
}

/// True if the algorithm uses explicit congestion notification by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// The endpoint's setting: none, or RFC 3168 with one [`Cause::Ecn`] a round trip.
    #[default]
    Endpoint,
    /// ECT(0) and a count of marks with every ACK ([`Ack::marked`]); no [`Cause::Ecn`] (RFC 8257).
    Accurate,
    /// ECT(1) and a count of marks with every ACK (RFC 9331).
    L4s,
}

/// Kind of router that an algorithm needs on its path, if it cannot work without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Router {
    /// Each segment carries a [`RouterAssisted::request`], and routers answer with [`Answer::Feedback`] (XCP).
    Xcp,
    /// Routers write how loaded they are into the two ECN bits of each segment: [`Answer::Load`] (VCP).
    Vcp,
}

impl Router {
    /// The word that names it: the algorithm's, and the queue discipline's.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Router::Xcp => "xcp",
            Router::Vcp => "vcp",
        }
    }
}

/// Fields of a segment that XCP routers read about its sender.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Request {
    /// Round-trip time, s; 0 where it is not known yet.
    pub rtt: f64,
    /// Congestion window, segments.
    pub window: f64,
    /// By how much the rate should grow on account of this segment, segments/s.
    pub increase: f64,
}

states! {
    /// How loaded the most loaded VCP router of a path is.
    #[derive(PartialOrd, Ord)]
    pub enum Load {
        /// Below 80 % of what it aims at.
        Low = "low",
        /// From there to all of it.
        High = "high",
        /// More.
        Overload = "overload",
    }
}

/// Answer of the routers on a path to the segments that one ACK is for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer {
    /// Change of rate that XCP routers want, segments/s: the sum over the segments.
    Feedback(f64),
    /// Load that VCP routers report.
    Load(Load),
}

/// Needs of an algorithm besides ACKs, losses and timeouts. A signal that is not asked for is not computed, and costs nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// [`Ack::window_at_send`].
    pub window_at_send: bool,
    /// [`Ack::owd`].
    pub one_way_delay: bool,
    /// [`Ack::delivery`].
    pub delivery: bool,
    /// [`Algorithm::on_lost`].
    pub losses: bool,
    /// [`Algorithm::on_sent`].
    pub sends: bool,
    /// [`Algorithm::pacing_rate`].
    pub pacing: bool,
    /// The algorithm's window holds in recovery too, and not the endpoint's recovery rule (Linux `cong_control`).
    pub own_recovery: bool,
    /// ECN.
    pub ecn: Ecn,
    /// Routers of a kind of their own: the algorithm is [`RouterAssisted`].
    pub router: Option<Router>,
    /// [`Start::hz`].
    pub hz: bool,
    /// A round begins with the end of a recovery ([`Ack::round_start`]), and not where the last one ended: Linux's
    /// `tcp_vegas_state`.
    pub rounds_restart: bool,
}

impl Needs {
    /// True if anything has to be filled in with each ACK: a field of [`Ack`] that is empty otherwise, or an [`Answer`].
    #[must_use]
    #[inline]
    pub const fn with_acks(&self) -> bool {
        self.window_at_send || self.one_way_delay || self.delivery || self.router.is_some()
    }
}

/// A delivery-rate sample (draft-ietf-ccwg-bbr section 4.1; draft-cheng-iccrg-delivery-rate-estimation), of the newest
/// segment that an ACK reports.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delivery {
    /// Segments/s; none where the interval is shorter than the smallest RTT, which makes it unreliable.
    pub rate: Option<f64>,
    /// The longer of the times in which the sample's segments were sent and acknowledged, s.
    pub interval: f64,
    /// Segments delivered on this connection so far, this ACK included.
    pub delivered: f64,
    /// The same when the segment was sent.
    pub prior_delivered: f64,
    /// The application, not the window, limited the sender when the segment was sent.
    pub app_limited: bool,
    /// Segments outstanding when the segment was sent, itself included.
    pub tx_in_flight: f64,
    /// Segments found lost since the segment was sent.
    pub lost: f64,
}

/// A segment found lost, one by one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lost {
    /// Seconds.
    pub now: f64,
    /// When it was last sent, s.
    pub sent_at: f64,
    /// Segments delivered on this connection so far. 0 without [`Needs::delivery`], as all that follows.
    pub delivered: f64,
    /// The same when the segment was sent.
    pub prior_delivered: f64,
    /// The application, not the window, limited the sender when the segment was sent.
    pub app_limited: bool,
    /// Segments outstanding when the segment was sent, itself included.
    pub tx_in_flight: f64,
    /// Segments found lost since the segment was sent, itself included.
    pub lost: f64,
}

/// A segment put on the wire.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sent {
    /// Seconds.
    pub now: f64,
    /// Segments outstanding, itself included.
    pub in_flight: f64,
    /// It was sent before.
    pub retransmission: bool,
}

/// One acknowledgement that advances the window or selectively acknowledges something.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ack {
    /// Arrival time at the sender, s.
    pub now: f64,
    /// Segments newly delivered by this ACK, cumulatively or by SACK, each counted once.
    pub acked: f64,
    /// Round-trip time of the newest segment that this ACK reports (by timestamp, so retransmissions are not ambiguous), s.
    pub rtt: Option<f64>,
    /// One-way delay of the same segment as the two hosts' clocks show it: plus their unknown offset, s. Only with
    /// [`Needs::one_way_delay`].
    pub owd: Option<f64>,
    /// Smallest RTT since the connection began, this sample included, s. Infinite before the first sample.
    pub min_rtt: f64,
    /// RFC 6298 smoothed RTT, this sample included, s. 0 before the first sample.
    pub srtt: f64,
    /// Delivery-rate sample; only with [`Needs::delivery`].
    pub delivery: Option<Delivery>,
    /// Segments outstanding after this ACK: sent, and neither acknowledged nor SACKed nor marked lost.
    pub in_flight: f64,
    /// Congestion window in force when the newest acknowledged segment was sent; only with [`Needs::window_at_send`],
    /// otherwise 0.
    pub window_at_send: f64,
    /// First ACK of a new round: the segments outstanding when the last round began are all acknowledged.
    pub round_start: bool,
    /// The endpoint is in fast recovery, or this is a duplicate ACK that may begin one: the window is frozen, only
    /// estimators may move.
    pub in_recovery: bool,
    /// The window (or the pace at which it is spent), and not the application or the receiver, limited the sender.
    pub window_limited: bool,
    /// Segments among those newly delivered that a queue had marked; only with [`Ecn::Accurate`] and [`Ecn::L4s`].
    pub marked: f64,
}

impl Ack {
    /// True if the rules allow the window to grow on this ACK (not in recovery, and the window is what limits the flow).
    #[must_use]
    #[inline]
    pub fn may_grow(&self) -> bool {
        !self.in_recovery && self.window_limited
    }

    /// When the newest segment that this ACK reports was sent, s.
    #[must_use]
    #[inline]
    pub fn sent_at(&self) -> f64 {
        self.now - self.rtt.unwrap_or(0.0)
    }
}

/// Cause of a congestion signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A lost segment, found without a timeout.
    Loss,
    /// An ECN echo.
    Ecn,
}

/// A congestion signal or a timeout; at most one a recovery episode.
#[derive(Clone, Copy, Debug)]
pub struct Signal {
    /// Seconds.
    pub now: f64,
    /// Segments outstanding just before the loss was found (RFC 5681's FlightSize).
    pub in_flight: f64,
    /// Why.
    pub cause: Cause,
    /// Smoothed RTT, s.
    pub srtt: f64,
    /// Smallest RTT so far, s.
    pub min_rtt: f64,
    /// A timeout that follows another without progress between them: `ssthresh` is kept (RFC 5681 section 3.1).
    pub repeated: bool,
}

/// A congestion control algorithm.
///
/// The endpoint sends while its estimate of the segments in flight is below [`Algorithm::window`], except in fast
/// recovery, where its recovery rule (PRR, rate halving, RFC 6675) goes from the old window to the new one.
///
/// [`Observe`] gives its internal variables; an algorithm that shows none implements it without a method.
pub trait Algorithm: Observe {
    /// The connection begins.
    fn on_start(&mut self, start: &Start);
    /// Every ACK that delivers something.
    fn on_ack(&mut self, ack: &Ack);
    /// Once a recovery episode: set `ssthresh` and the window the episode ends with.
    fn on_congestion(&mut self, signal: &Signal);
    /// The retransmission timer fired: set `ssthresh`, restart the window.
    fn on_timeout(&mut self, signal: &Signal);
    /// Sending resumes after nothing was outstanding for `idle` seconds (longer than one RTO).
    fn on_idle(&mut self, _now: f64, _idle: f64) {}
    /// A segment went out; only with [`Needs::sends`].
    fn on_sent(&mut self, _sent: &Sent) {}
    /// A segment was found lost, a retransmitted one each time anew; called before [`Algorithm::on_congestion`] and the
    /// ACK's own [`Algorithm::on_ack`]. Only with [`Needs::losses`].
    fn on_lost(&mut self, _lost: &Lost) {}
    /// Everything outstanding at the congestion signal or the timeout is acknowledged.
    fn on_recovery_exit(&mut self, _now: f64) {}
    /// The endpoint's recovery rule ended below the window that the algorithm asked for: continue from `window`,
    /// segments, if that is less. `ssthresh` stays.
    fn moderate(&mut self, window: f64);
    /// The last congestion signal or timeout turned out to be spurious: restore what it changed.
    fn on_undo(&mut self, _now: f64) {}
    /// Congestion window, segments; the endpoint sends whole segments, so up to its floor.
    fn window(&self) -> f64;
    /// Slow start threshold, segments; infinite before the first loss.
    fn ssthresh(&self) -> f64;
    /// Smallest window during a recovery that halves the rate step by step, segments. Most of Linux 2.6's modules let it
    /// sink to half of the target (`min_cwnd`), so as to end at the target when half of the flight was lost.
    fn recovery_floor(&self) -> f64 {
        self.ssthresh()
    }
    /// Segments per second where the algorithm paces: segments then leave at this rate, one by one, as far as the window
    /// allows. Asked after every callback; only with [`Needs::pacing`].
    fn pacing_rate(&self) -> Option<f64> {
        None
    }
    /// Needs of the algorithm; the same at any time.
    #[inline]
    fn needs(&self) -> Needs {
        Needs::default()
    }
    /// A copy with the same state, for transports that move connections between paths and for sources of transfers; nothing
    /// where the algorithm cannot be copied. The registry's algorithms are `Clone`, and do not need it.
    fn clone_boxed(&self) -> Option<Box<dyn Algorithm + Send>> {
        None
    }
    /// The algorithm as one that routers assist: present exactly with [`Needs::router`].
    fn router_assisted(&mut self) -> Option<&mut dyn RouterAssisted> {
        None
    }
}

/// An algorithm that routers assist: it writes requests into its segments, and its ACKs bring the routers' feedback.
pub trait RouterAssisted {
    /// Congestion header of a segment that is about to leave; `limited` where the window, and not the application or the
    /// receiver, held the sender back last. Only with [`Router::Xcp`].
    fn request(&mut self, _limited: bool) -> Request {
        Request::default()
    }
    /// The routers' answer that came with an ACK; after the ACK's own [`Algorithm::on_ack`].
    fn on_answer(&mut self, ack: &Ack, answer: Answer);
}
