//! An ACK as an algorithm sees it.

use crate::linux::reports::{Recovery, Sample};
use crate::router::Answer;

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
    /// [`Needs::one_way_delay`](crate::Needs::one_way_delay).
    pub owd: Option<f64>,
    /// Smallest RTT since the connection began, this sample included, s. Infinite before the first sample.
    pub min_rtt: f64,
    /// RFC 6298 smoothed RTT, this sample included, s. 0 before the first sample.
    pub srtt: f64,
    /// Delivery-rate sample; only with [`Needs::delivery`](crate::Needs::delivery).
    pub delivery: Option<Delivery>,
    /// Segments outstanding after this ACK: sent segments that are not acknowledged, SACKed or marked lost.
    pub in_flight: f64,
    /// Congestion window in force when the newest acknowledged segment was sent; only with [`Needs::window_at_send`](crate::Needs::window_at_send),
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
    /// Newly delivered segments that carried an ECN mark of a queue; only with [`Ecn::Accurate`](crate::Ecn::Accurate) and [`Ecn::L4s`](crate::Ecn::L4s).
    pub marked: f64,
    /// Routers' answer to the acknowledged segments; only with [`Needs::router`](crate::Needs::router).
    pub answer: Option<Answer>,
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
