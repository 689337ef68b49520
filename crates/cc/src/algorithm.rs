//! Interface between an endpoint and an algorithm: the events that the endpoint reports, and the algorithm's answers.
//!
//! Units are those of the papers: windows in segments, time in seconds, rates in segments per second. Nothing here
//! depends on the simulator, so the same types can drive a real transport.

use crate::jiffies::DEFAULT_HZ;
use crate::observe::{Observe, states};

/// The connection begins.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// Seconds.
    pub now: f64,
    /// Segments.
    pub initial_window: f64,
    /// Initial slow start threshold, segments; infinite if slow start lasts until the first loss.
    pub initial_ssthresh: f64,
    /// Payload of a segment, bytes, for algorithms that count in bits.
    pub segment_bytes: f64,
    /// Timer interrupts a second of the sending host (Linux's `HZ`), for algorithms that count in [jiffies](crate::jiffies).
    pub hz: f64,
    /// Seed of the algorithm's [`Draws`](crate::draws::Draws), if it uses random numbers.
    pub seed: u64,
    /// RTT of the handshake, s, if it was measured. The handshake's RTT is the first sample of the smallest RTT and of
    /// the smoothed RTT.
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

/// Use of explicit congestion notification by the algorithm itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// The endpoint's setting: no ECN, or RFC 3168's ECN with one [`Cause::Ecn`] a round trip.
    #[default]
    Endpoint,
    /// ECT(0) and a count of marks with every ACK ([`Ack::marked`]); no [`Cause::Ecn`] (RFC 8257).
    Accurate,
    /// ECT(1) and a count of marks with every ACK (RFC 9331).
    L4s,
}

/// Kind of router without which an algorithm cannot work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Router {
    /// Each segment carries a [`RouterAssisted::request`], and routers answer with [`Answer::Feedback`] (XCP).
    Xcp,
    /// Routers write their load into the two ECN bits of each segment ([`Answer::Load`], VCP).
    Vcp,
}

impl Router {
    /// Name of the kind, common to the algorithm and the queue discipline.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Router::Xcp => "xcp",
            Router::Vcp => "vcp",
        }
    }
}

/// Fields of a segment's congestion header that the sender fills in for XCP routers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Request {
    /// Round-trip time, s; 0 while it is unknown.
    pub rtt: f64,
    /// Congestion window, segments.
    pub window: f64,
    /// Increase of the sending rate that the sender wants from this segment, segments/s.
    pub increase: f64,
}

states! {
    /// Load of the most loaded VCP router on a path.
    #[derive(PartialOrd, Ord)]
    pub enum Load {
        /// Below 80 % of the router's target utilization.
        Low = "low",
        /// From 80 % to 100 % of the target utilization.
        High = "high",
        /// Above the target utilization.
        Overload = "overload",
    }
}

/// Answer of the routers on a path to the segments that one ACK acknowledges.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer {
    /// Change of the sending rate that XCP routers request, segments/s, summed over the acknowledged segments.
    Feedback(f64),
    /// Load that VCP routers report.
    Load(Load),
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
    /// [`Algorithm::on_lost`].
    pub losses: bool,
    /// [`Algorithm::on_sent`].
    pub sends: bool,
    /// [`Algorithm::pacing_rate`].
    pub pacing: bool,
    /// The algorithm's window also applies during recovery, in place of the endpoint's recovery rule (Linux
    /// `cong_control`).
    pub own_recovery: bool,
    /// [`Algorithm::on_restart`].
    pub restarts: bool,
    /// Use of ECN.
    pub ecn: Ecn,
    /// Kind of router that the algorithm, a [`RouterAssisted`] one, needs.
    pub router: Option<Router>,
    /// [`Start::hz`].
    pub hz: bool,
    /// A new round begins when a recovery ends, even if the last round has not ended, as in Linux's `tcp_vegas_state`
    /// ([`Ack::round_start`]).
    pub rounds_restart: bool,
    /// [`Algorithm::takes_reduction`].
    pub reductions: bool,
    /// [`Delivery::app_limited`] is also true while only the receiver's window limits the sender.
    pub receiver_limits: bool,
}

impl Needs {
    /// True if the endpoint must fill in something with each ACK: a field of [`Ack`] that is otherwise empty, or an
    /// [`Answer`].
    #[must_use]
    #[inline]
    pub const fn with_acks(&self) -> bool {
        self.window_at_send || self.one_way_delay || self.delivery || self.router.is_some()
    }
}

/// A delivery-rate sample (draft-ietf-ccwg-bbr section 4.1; draft-cheng-iccrg-delivery-rate-estimation), of the segment
/// that was sent last, of those that an ACK delivers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delivery {
    /// Delivery rate, segments/s; `None` if the interval is shorter than the smallest RTT, since the rate would be
    /// unreliable.
    pub rate: Option<f64>,
    /// Interval of the sample, s: the longer of the time in which its segments were sent and the time in which they
    /// were acknowledged.
    pub interval: f64,
    /// Segments delivered on this connection so far, this ACK included.
    pub delivered: f64,
    /// Value of `delivered` at the time when the segment was sent.
    pub prior_delivered: f64,
    /// True if the application, not the window, limited the sender when the segment was sent.
    pub app_limited: bool,
    /// Segments outstanding when the segment was sent, itself included.
    pub tx_in_flight: f64,
    /// Segments found lost since the segment was sent.
    pub lost: f64,
    /// Time until the pacing lets the next segment leave, s; 0 if the segment may leave now, and with endpoints that do
    /// not pace.
    pub departs_in: f64,
}

/// The sending of a segment while no segment is in flight, on Linux.
#[derive(Clone, Copy, Debug, Default)]
pub struct Restart {
    /// Time, s.
    pub now: f64,
    /// Number of the next new segment (`snd_nxt`).
    pub next: u32,
    /// Time since the last transmission, in whole jiffies, s.
    pub idle: f64,
    /// True if the application limits the delivery rate (`app_limited`); only with [`Needs::delivery`].
    pub application_limited: bool,
}

/// One segment that the endpoint declared lost.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lost {
    /// Seconds.
    pub now: f64,
    /// Time at which the segment was last sent, s.
    pub sent_at: f64,
    /// Segments delivered on this connection so far. `delivered` and the fields below it are 0 without
    /// [`Needs::delivery`].
    pub delivered: f64,
    /// Value of `delivered` at the time when the segment was sent.
    pub prior_delivered: f64,
    /// True if the application, not the window, limited the sender when the segment was sent.
    pub app_limited: bool,
    /// Segments outstanding when the segment was sent, itself included.
    pub tx_in_flight: f64,
    /// Segments found lost since the segment was sent, itself included.
    pub lost: f64,
    /// True if a timer, and not an ACK, shows the loss.
    pub by_timer: bool,
}

/// A segment put on the wire.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sent {
    /// Seconds.
    pub now: f64,
    /// Segments outstanding, itself included.
    pub in_flight: f64,
    /// True if the segment was sent before.
    pub retransmission: bool,
}

/// State of an endpoint's loss recovery (Linux's `icsk_ca_state`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recovery {
    /// No segment is SACKed or counted lost.
    #[default]
    Open,
    /// Segments are SACKed, and none is counted lost.
    Disorder,
    /// Recovery after a loss, an ECN echo or a timeout.
    Repair,
}

/// Linux's sample of an ACK (`ack_sample`). Linux calls its modules' `pkts_acked` in `tcp_clean_rtx_queue`, before the
/// ACK changes the state of loss recovery. The ACK that ends a recovery is therefore a sample of this recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// State before the ACK.
    pub state: Recovery,
    /// State after the ACK, in which Linux calls its modules' `cong_avoid`.
    pub then: Recovery,
    /// Lowest unacknowledged segment after the ACK (`snd_una`).
    pub una: u32,
    /// Next new segment (`snd_nxt`).
    pub next: u32,
    /// Segments that the ACK acknowledges cumulatively, SACKed ones included.
    pub acked: f64,
    /// SACKed segments above `una` after the ACK (`sacked_out`).
    pub sacked: u32,
    /// True if the ACK has SACK blocks, echoes a mark or changes the receive window: Linux then processes it on its slow
    /// path (`CA_ACK_SLOWPATH`).
    pub is_slow: bool,
    /// Largest burst that segmentation offload sends, segments (`sk_gso_max_size`); 0 without offload.
    pub largest_burst: f64,
    /// Window before the ACK, segments (`snd_cwnd`). In a recovery, this is the window of the endpoint's recovery rule.
    pub window: f64,
    /// The ACK's two timestamps, s (RFC 7323); only with [`Needs::one_way_delay`], otherwise 0. The first is the send
    /// time of the segment that the ACK echoes (`rcv_tsecr`): the oldest segment that the last advancing ACK
    /// acknowledges, so duplicate ACKs repeat this time. The second is the time of the ACK itself (`rcv_tsval`).
    pub timestamps: (f64, f64),
}

impl Sample {
    /// True if the ACK ends a recovery, or a disorder of SACKed segments. Linux tells this to its modules (`set_state`)
    /// after the sample and before `cong_avoid`.
    #[must_use]
    #[inline]
    pub fn opens(&self) -> bool {
        self.state != Recovery::Open && self.then == Recovery::Open
    }
}

/// One ACK that acknowledges new data, cumulatively or by SACK.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ack {
    /// Arrival time at the sender, s.
    pub now: f64,
    /// Segments newly delivered by this ACK, cumulatively or by SACK, each counted once.
    pub acked: f64,
    /// Round-trip time of the newest segment that this ACK reports, s. The sample comes from a timestamp, so
    /// retransmissions are not ambiguous.
    pub rtt: Option<f64>,
    /// One-way delay of the same segment, s, plus the unknown offset between the two hosts' clocks. Only with
    /// [`Needs::one_way_delay`].
    pub owd: Option<f64>,
    /// Smallest RTT since the connection began, this sample included, s. Infinite before the first sample.
    pub min_rtt: f64,
    /// RFC 6298 smoothed RTT, this sample included, s. 0 before the first sample.
    pub srtt: f64,
    /// Delivery-rate sample; only with [`Needs::delivery`].
    pub delivery: Option<Delivery>,
    /// Segments outstanding after this ACK: sent segments that are not acknowledged, SACKed or marked lost.
    pub in_flight: f64,
    /// Congestion window in force when the newest acknowledged segment was sent; only with [`Needs::window_at_send`],
    /// otherwise 0.
    pub window_at_send: f64,
    /// True for the first ACK of a new round: all segments that were outstanding when the last round began are
    /// acknowledged.
    pub round_start: bool,
    /// True if the endpoint is in fast recovery, or if this duplicate ACK may begin a fast recovery. While this flag is
    /// true the window must not change; only estimators are updated.
    pub in_recovery: bool,
    /// Linux's sample; `None` for other stacks. The samples of other stacks depend on `acked` and `in_recovery`.
    pub sample: Option<Sample>,
    /// True if the window or the pacing rate, and not the application or the receiver, limited the sender.
    pub window_limited: bool,
    /// Newly delivered segments that carried an ECN mark of a queue; only with [`Ecn::Accurate`] and [`Ecn::L4s`].
    pub marked: f64,
}

impl Ack {
    /// True if the window may grow on this ACK: the flow is not in recovery, and the window limits the flow.
    #[must_use]
    #[inline]
    pub fn may_grow(&self) -> bool {
        !self.in_recovery && self.window_limited
    }

    /// True if this ACK counts as a sample of a connection without losses and SACKs (`TCP_CA_Open`).
    #[must_use]
    #[inline]
    pub fn was_open(&self) -> bool {
        self.sample.map_or(!self.in_recovery, |sample| sample.state == Recovery::Open)
    }

    /// True if this ACK counts as a sample of a recovery.
    #[must_use]
    #[inline]
    pub fn was_repairing(&self) -> bool {
        self.sample.map_or(self.in_recovery, |sample| sample.state == Recovery::Repair)
    }

    /// Number of segments in the sample of this ACK (`pkts_acked`).
    #[must_use]
    #[inline]
    pub fn sampled(&self) -> f64 {
        self.sample.map_or(self.acked, |sample| sample.acked)
    }

    /// Time at which the newest segment that this ACK reports was sent, s.
    #[must_use]
    #[inline]
    pub fn sent_at(&self) -> f64 {
        self.now - self.rtt.unwrap_or(0.0)
    }
}

/// Cause of a congestion signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A segment declared lost without a timeout.
    Loss,
    /// An ECN echo.
    Ecn,
}

/// A congestion signal or a timeout. The endpoint reports at most one congestion signal for each recovery.
#[derive(Clone, Copy, Debug)]
pub struct Signal {
    /// Seconds.
    pub now: f64,
    /// Segments outstanding just before the loss was detected (FlightSize of RFC 5681).
    pub in_flight: f64,
    /// Cause of the signal.
    pub cause: Cause,
    /// Smoothed RTT, s.
    pub srtt: f64,
    /// Smallest RTT so far, s.
    pub min_rtt: f64,
    /// True for a timeout that follows another timeout without new data acknowledged between them; `ssthresh` is then
    /// kept (RFC 5681 section 3.1). On Linux also true for a timeout in a recovery, which has reduced the window.
    pub repeated: bool,
    /// Segments that a timeout leaves in flight. Linux does not count the segments of the last RTT as lost; other stacks
    /// count all segments as lost.
    pub kept: f64,
}

/// A congestion control algorithm.  The endpoint sends while its estimate of the segments in flight is below
/// [`Algorithm::window`]. In fast recovery the endpoint's recovery rule (PRR, rate halving, RFC 6675) determines the
/// transition from the old window to the new window.
///
/// [`Observe`] reports the algorithm's internal variables. An algorithm without internal variables implements the trait
/// with an empty body.
pub trait Algorithm: Observe {
    /// Handles the start of the connection.
    fn on_start(&mut self, start: &Start);
    /// Handles an ACK that delivers new data.
    fn on_ack(&mut self, ack: &Ack);
    /// Handles Linux's sample of an ACK that begins a recovery, before [`Algorithm::on_congestion`]; `on_ack` follows with
    /// the same sample. Linux calls its modules' `pkts_acked` before `ssthresh`.
    fn on_sample(&mut self, _ack: &Ack) {}
    /// Handles a congestion signal, once for each recovery: sets `ssthresh` and the window at the end of the recovery.
    fn on_congestion(&mut self, signal: &Signal);
    /// Handles an expired retransmission timer: sets `ssthresh` and restarts the window.
    fn on_timeout(&mut self, signal: &Signal);
    /// Handles the resumption of sending after nothing was outstanding for `idle` seconds (longer than one RTO).
    fn on_idle(&mut self, _now: f64, _idle: f64) {}
    /// Restarts the window after an idle time longer than `timeouts` retransmission timeouts, on Linux
    /// (`tcp_cwnd_restart`). False if the algorithm has no such rule; then [`Algorithm::on_idle`] is called.
    fn on_idle_timeouts(&mut self, _timeouts: u32) -> bool {
        false
    }
    /// Handles the sending of a segment while no segment is in flight, on Linux (`CA_EVENT_TX_START`); only with
    /// [`Needs::restarts`].
    fn on_restart(&mut self, _restart: &Restart) {}
    /// Handles the sending of a segment; only with [`Needs::sends`].
    fn on_sent(&mut self, _sent: &Sent) {}
    /// Handles a lost segment; a segment that is lost again after its retransmission is reported again. Called before
    /// [`Algorithm::on_congestion`] and before [`Algorithm::on_ack`] for the same ACK. Only with [`Needs::losses`].
    fn on_lost(&mut self, _lost: &Lost) {}
    /// Handles a loss that turns a reduction of the window into a recovery, on Linux (the state `CWR` into `Recovery`).
    /// `window` is the window of the endpoint's recovery rule, segments. [`Algorithm::on_congestion`] has reduced the
    /// window at the start of the reduction, and is not called again. The endpoint follows a threshold that falls here.
    fn on_loss_in_reduction(&mut self, _now: f64, _window: f64) {}
    /// Handles the end of a recovery: all segments outstanding at the congestion signal or the timeout are
    /// acknowledged.
    fn on_recovery_exit(&mut self, _now: f64) {}
    /// Lowers the algorithm's window to `window` segments, the window at which the endpoint's recovery rule ended; a
    /// larger `window` has no effect. `ssthresh` stays.
    fn moderate(&mut self, window: f64);
    /// Sets the window to `window` segments, the window of the endpoint's recovery rule, where a recovery turns out to be
    /// spurious but a mark has shown congestion: Linux then restores nothing (`tcp_enter_cwr`). `ssthresh` stays.
    fn keep(&mut self, window: f64) {
        self.moderate(window);
    }
    /// Restores the state before the last congestion signal or timeout, which turned out to be spurious.
    fn on_undo(&mut self, _now: f64) {}
    /// Congestion window, segments. The endpoint sends whole segments, so it rounds the window down.
    fn window(&self) -> f64;
    /// Slow start threshold, segments; infinite before the first loss.
    fn ssthresh(&self) -> f64;
    /// Smallest window during a recovery by rate halving, segments. Most modules of Linux 2.6 let the window fall to
    /// half of the target (`min_cwnd`). The recovery then ends at the target if half of the flight was lost.
    fn recovery_floor(&self) -> f64 {
        self.ssthresh()
    }
    /// True once after the algorithm has decided on an ACK to reduce its window although no segment was lost or marked.
    /// The endpoint then begins a recovery as after an ECN echo (Linux's `tcp_enter_cwr`), and calls
    /// [`Algorithm::on_congestion`] with [`Cause::Ecn`]; only with [`Needs::reductions`].
    fn takes_reduction(&mut self) -> bool {
        false
    }
    /// Pacing rate, segments/s; `None` without pacing. Segments leave one by one at this rate, as far as the window
    /// allows. The endpoint reads the pacing rate after every callback; only with [`Needs::pacing`].
    fn pacing_rate(&self) -> Option<f64> {
        None
    }
    /// Needs of the algorithm, which never change.
    #[inline]
    fn needs(&self) -> Needs {
        Needs::default()
    }
    /// A copy with the same state, for transports that move connections between paths and for sources of transfers;
    /// `None` if the algorithm cannot be copied. Algorithms of the registry are `Clone` and do not need this method.
    fn clone_boxed(&self) -> Option<Box<dyn Algorithm + Send>> {
        None
    }
    /// The algorithm's interface to routers; it is `Some` exactly if [`Needs::router`] is set.
    fn router_assisted(&mut self) -> Option<&mut dyn RouterAssisted> {
        None
    }
}

/// An algorithm assisted by routers: it writes requests into its segments, and its ACKs carry the routers' feedback.
pub trait RouterAssisted {
    /// Congestion header of a segment that is about to leave. `limited` is true if the window, and not the application
    /// or the receiver, ended the last transmission. Only with [`Router::Xcp`].
    fn request(&mut self, _limited: bool) -> Request {
        Request::default()
    }
    /// Handles the routers' answer that came with an ACK; called after [`Algorithm::on_ack`] for the same ACK.
    fn on_answer(&mut self, ack: &Ack, answer: Answer);
}
