//! Timestamps that a sender echoes to its receiver (RFC 7323), in whole ms as in Linux.

use crate::endpoint::compression;
use crate::spec::Handshake;
use crate::time::Time;

/// The timestamp of the latest ACK. A packet has no room for the send time of an ACK, so the sender computes this time
/// from the empty reverse path: an ACK that waits in a queue counts as sent later.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TimestampEcho {
    /// Propagation on the reverse path; zero if the receiver needs no timestamps.
    back: Time,
    /// Transmission of a byte on the reverse path.
    per_byte: Time,
    /// Timestamp of the latest ACK in ms, plus 1; 0 before the first ACK, and if the receiver needs no timestamps.
    latest: u32,
    /// Time of the hosts' clock at the start of the run.
    phase: Time,
}

impl TimestampEcho {
    /// Timestamps of a connection whose hosts' clock shows `phase` at the start of the run. A receiver needs timestamps
    /// only on a short path.
    pub(super) fn new(handshake: &Handshake, phase: Time) -> Self {
        if compression::depends_on(handshake.receivers_rtt) {
            Self { back: handshake.back, per_byte: handshake.per_byte, latest: 0, phase }
        } else {
            Self::default()
        }
    }

    /// Takes an ACK of `bytes` that arrives now.
    #[inline(always)]
    pub(super) fn on_ack(&mut self, now: Time, bytes: u64) {
        if self.back > Time::ZERO {
            self.take(now.since(self.back.later(Time(self.per_byte.0.saturating_mul(bytes)))));
        }
    }

    /// Takes an ACK with SACK blocks, after [`TimestampEcho::on_ack`]; its latest segment arrived at `arrival`. If such an
    /// ACK waited for further segments, its timestamp is the time of the latest segment: Linux does not read the clock
    /// anew (`tcp_compressed_ack_kick`).
    #[inline]
    pub(super) fn on_sack(&mut self, arrival: Time) {
        if self.back > Time::ZERO {
            self.take(arrival);
        }
    }

    fn take(&mut self, time: Time) {
        self.latest = (time.later(self.phase).0 / Time::MILLISECOND.0) as u32 + 1;
    }

    /// The timestamp that a segment echoes.
    #[inline(always)]
    pub(super) fn latest(&self) -> u32 {
        self.latest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Time = Time::MILLISECOND;

    fn handshake(rtt_ms: u64) -> Handshake {
        let rtt = Time(rtt_ms * MS.0);
        Handshake { rtt, receivers_rtt: rtt, back: Time(4 * MS.0), per_byte: Time::MICROSECOND }
    }

    #[test]
    fn an_ack_has_the_time_at_which_it_was_sent() {
        let mut echo = TimestampEcho::new(&handshake(8), Time::ZERO);
        assert_eq!(echo.latest(), 0);
        echo.on_ack(Time(20 * MS.0), 52);
        assert_eq!(echo.latest(), 16, "20 ms - 4 ms - 52 us are 15 whole ms");
        echo.on_sack(Time(14 * MS.0));
        assert_eq!(echo.latest(), 15, "the ACK waited, and has the time of its latest segment");
    }

    #[test]
    fn a_long_path_needs_no_timestamps() {
        let mut echo = TimestampEcho::new(&handshake(21), Time::ZERO);
        echo.on_ack(Time(20 * MS.0), 52);
        assert_eq!(echo.latest(), 0);
    }
}
