//! Reports of an endpoint: a start, a signal, a sent segment and a lost one.

use crate::jiffies::DEFAULT_HZ;

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

/// One segment that the endpoint declared lost.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lost {
    /// Seconds.
    pub now: f64,
    /// Time at which the segment was last sent, s.
    pub sent_at: f64,
    /// Segments delivered on this connection so far. `delivered` and the fields below it are 0 without
    /// [`Needs::delivery`](crate::Needs::delivery).
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
