//! Timestamps that a sender echoes to its receiver (RFC 7323), in whole ms as in Linux.

use super::ack_compression;
use crate::endpoint::read::read;
use crate::packet::OWD_UNIT_PS;
use crate::time::Time;

/// The timestamp of the latest ACK.
#[derive(Clone, Copy, Debug, Default)]
pub struct TimestampEcho {
    /// True if the receiver needs timestamps.
    active: bool,
    /// Timestamp of the latest ACK in ms, plus 1; 0 before the first ACK, and if the receiver needs no timestamps.
    latest: u32,
    /// Time of the hosts' clock at the start of the run.
    phase: Time,
}

impl TimestampEcho {
    read!(latest: u32);

    /// Timestamps of a connection whose receiver measures RTTs of at least `least`, and whose hosts' clock shows `phase` at
    /// the start of the run. A receiver needs timestamps only on a short path.
    pub fn new(least: Time, phase: Time) -> Self {
        Self { active: ack_compression::depends_on(least), latest: 0, phase }
    }

    /// Takes an ACK of a segment that left at `stamp`; its one-way delay until the time of the ACK's timestamp is `owd`,
    /// in units of [`OWD_UNIT_PS`].
    #[inline(always)]
    pub fn on_ack(&mut self, stamp: Time, owd: u32) {
        if self.active {
            let time = stamp.later(Time(u64::from(owd) * OWD_UNIT_PS)).later(self.phase);
            self.latest = (time.0 / Time::MILLISECOND.0) as u32 + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Time = Time::MILLISECOND;

    fn echo(rtt_ms: u64) -> TimestampEcho {
        TimestampEcho::new(Time(rtt_ms * MS.0), Time(MS.0 / 2))
    }

    #[test]
    fn an_ack_has_the_time_at_which_it_was_sent() {
        let mut echo = echo(8);
        assert_eq!(echo.latest(), 0);
        echo.on_ack(Time(20 * MS.0), (4 * MS.0 / OWD_UNIT_PS) as u32);
        assert_eq!(echo.latest(), 25, "24 ms and the phase are 24 whole ms");
        echo.on_ack(Time(20 * MS.0), (5 * MS.0 / OWD_UNIT_PS) as u32);
        assert_eq!(echo.latest(), 26);
    }

    #[test]
    fn a_long_path_needs_no_timestamps() {
        let mut echo = echo(21);
        echo.on_ack(Time(20 * MS.0), 1);
        assert_eq!(echo.latest(), 0);
    }
}
