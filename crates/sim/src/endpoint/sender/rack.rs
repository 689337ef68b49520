//! Loss detection by time (RACK, RFC 8985): the latest delivered segment, and the send time of each outstanding
//! segment.

use elephan_cc::estimators::SegmentRing;

use super::reports::ReorderingWindow;
use crate::spec::{Detection, HostRule, StackSpec};
use crate::time::Time;

/// State of RACK.
#[derive(Debug)]
pub(super) struct Rack {
    /// True if the stack has RACK-TLP.
    pub(super) enabled: bool,
    /// True if the clock for RTTs counts whole microseconds.
    counts_us: bool,
    /// True if the send time of each outstanding segment is kept.
    pub(super) keeps_times: bool,
    /// Send time (RACK.xmit_ts), number (RACK.end_seq) and RTT of the latest delivered segment.
    pub(super) stamp: Time,
    pub(super) segment: u32,
    pub(super) rtt: Time,
    pub(super) reordering_seen: bool,
    /// Number of SACKed segments from which an overtaken segment does not wait; it grows with the distance of overtaken
    /// segments (`tcp_check_sack_reordering`).
    pub(super) reordering: u32,
    /// Width of the reordering window.
    pub(super) window: ReorderingWindow,
    /// RTT of the handshake, s; infinite if it was not measured. The handshake's packets are small, so on a slow link
    /// this RTT is the smallest RTT and bounds the reordering window. The algorithm's smallest RTT is that of data
    /// segments.
    pub(super) handshake: f64,
    /// Twice the smallest RTT, the handshake's RTT included.
    pub(super) smallest_twice: Time,
    /// Time at which an overtaken segment counts as lost; [`Time::NEVER`] without this timer. As in Linux, an ACK that
    /// shows the loss itself does not stop the timer.
    pub(super) reorder_due: Time,
    /// Time at which the timer of the reordering window was last set.
    pub(super) reorder_set: Time,
    /// Time for which the overtaken retransmissions are not yet lost, while losses are detected. The timer of the
    /// reordering window waits for them too.
    pub(super) resent_wait: Option<Time>,
    /// Time of the host's clock at the start of the run.
    phase: Time,
    /// Send time of each outstanding segment.
    pub(super) sent_at: SegmentRing<Time>,
}

impl Rack {
    pub(super) fn new(stack: &StackSpec) -> Self {
        let enabled = stack.detection == Detection::Rack;
        Self {
            enabled,
            keeps_times: stack.keeps_times(),
            counts_us: stack.has(HostRule::Clock),
            stamp: Time::ZERO,
            segment: 0,
            rtt: Time::ZERO,
            reordering_seen: false,
            reordering: stack.dup_threshold,
            window: ReorderingWindow::default(),
            handshake: f64::INFINITY,
            smallest_twice: Time::NEVER,
            reorder_due: Time::NEVER,
            reorder_set: Time::NEVER,
            resent_wait: None,
            phase: stack.phase,
            sent_at: SegmentRing::new(),
        }
    }

    /// Time from `sent` to `at`. Linux's clock for RTTs counts whole microseconds (`tcp_mstamp`).
    #[inline]
    pub(super) fn elapsed(&self, at: Time, sent: Time) -> Time {
        let us = |time: Time| time.later(self.phase).0 / Time::MICROSECOND.0;
        if self.counts_us { Time(us(at).saturating_sub(us(sent)) * Time::MICROSECOND.0) } else { at.since(sent) }
    }

    /// Whole milliseconds of the host's clock.
    pub(super) fn host_ms(&self, time: Time) -> u64 {
        time.later(self.phase).0 / Time::MILLISECOND.0
    }

    /// Records the delivery of `segment`, which was sent at `stamp`.
    #[inline]
    pub(super) fn note_delivered(&mut self, segment: u32, stamp: Time, rtt: Time) {
        if self.enabled && (stamp, segment) > (self.stamp, self.segment) {
            (self.stamp, self.segment, self.rtt) = (stamp, segment, rtt);
        }
    }

    /// Records an RTT: that of the segment that Linux processes last, of the segments that an ACK delivers
    /// (`tcp_rack_advance`). RFC 8985 keeps the RTT of the segment that was sent last. An RTT below `smallest`, s, does not
    /// count: the original of the segment arrived after its retransmission was sent.
    #[cold]
    pub(super) fn note_processed(&mut self, rtt: Time, smallest: f64) {
        if rtt.seconds() >= smallest {
            self.rtt = rtt;
        }
    }

    /// True if a segment sent after `segment`, which was last sent at `sent`, has arrived. Segments of one burst have the
    /// same send time, so their numbers decide (RACK_sent_after in RFC 8985 section 6.2).
    #[inline]
    pub(super) fn has_overtaken(&self, segment: u32, sent: Time) -> bool {
        (sent, segment) < (self.stamp, self.segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::HostKind;

    #[test]
    fn linux_measures_between_whole_microseconds() {
        let (sent, at) = (Time(999_999), Time(2_000_000));
        let stack = |host, phase| StackSpec { host, phase: Time(phase), ..StackSpec::linux() };
        for (stack, elapsed) in [
            (stack(HostKind::Linux, 0), 2_000_000),
            (stack(HostKind::Linux, 1), 1_000_000),
            (stack(HostKind::Plain, 0), 1_000_001),
        ] {
            assert_eq!(Rack::new(&stack).elapsed(at, sent), Time(elapsed));
        }
    }
}
