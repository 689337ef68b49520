//! Loss detection by time (RACK, RFC 8985): the latest delivered segment, and when each outstanding one was sent.

use elephan_cc::estimators::SegmentRing;

use crate::time::Time;

/// State of RACK.
#[derive(Debug)]
pub(super) struct Rack {
    /// True if the stack has RACK-TLP.
    pub(super) enabled: bool,
    /// Send time of the latest delivered segment (RACK.xmit_ts), and its RTT.
    pub(super) stamp: Time,
    pub(super) rtt: Time,
    pub(super) reordering_seen: bool,
    /// RTT of the handshake, s; infinite if it was not timed. Its small packets make it the smallest of all on a slow link, so it bounds
    /// the window of reordering; the algorithm's smallest RTT is of data.
    pub(super) handshake: f64,
    /// Time at which a segment that may have been overtaken counts as lost; [`Time::NEVER`] if there is none.
    pub(super) reorder_due: Time,
    /// Send time of each outstanding segment.
    pub(super) sent_at: SegmentRing<Time>,
}

impl Rack {
    pub(super) fn new(enabled: bool) -> Self {
        Self {
            enabled,
            stamp: Time::ZERO,
            rtt: Time::ZERO,
            reordering_seen: false,
            handshake: f64::INFINITY,
            reorder_due: Time::NEVER,
            sent_at: SegmentRing::new(),
        }
    }

    /// An ACK reports a segment that was sent at `stamp`.
    #[inline]
    pub(super) fn note_delivered(&mut self, stamp: Time, rtt: Time) {
        if self.enabled && stamp > self.stamp {
            self.stamp = stamp;
            self.rtt = rtt;
        }
    }
}
